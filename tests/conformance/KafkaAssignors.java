import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's own client-side assignors, a line in, a line out.
 *
 * In, separated by tabs: the assignor's name; topics as name=racks;racks with racks as a,b; then
 * each member as id/topics/owned/generation/instance/rack/userdata. "~" is "not set".
 * Out: id=topic:0,topic:1 for each member, separated by blanks; or "error: " and its class.
 */
public class KafkaAssignors {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] word = line.split("\t");
            try {
                System.out.println(assign(word));
            } catch (RuntimeException e) {
                System.out.println("error: " + e.getClass().getSimpleName());
            }
        }
    }

    private static String assign(String[] word) {
        Map<String, Subscription> members = new LinkedHashMap<>();
        for (String text : Arrays.copyOfRange(word, 2, word.length)) {
            String[] part = text.split("/");
            Subscription subscription = new Subscription(
                list(part[1], ","),
                part[6].equals("~") ? null : ByteBuffer.wrap(HexFormat.of().parseHex(part[6])),
                partitions(part[2]),
                Integer.parseInt(part[3]),
                optional(part[5]));
            subscription.setGroupInstanceId(optional(part[4]));
            members.put(part[0], subscription);
        }
        Map<String, Assignment> given = assignor(word[0])
            .assign(cluster(word[1]), new GroupSubscription(members)).groupAssignment();
        return members.keySet().stream()
            .map(id -> id + "=" + given.get(id).partitions().stream()
                .map(p -> p.topic() + ":" + p.partition()).collect(Collectors.joining(",")))
            .collect(Collectors.joining(" "));
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            default: return new CooperativeStickyAssignor();
        }
    }

    private static Cluster cluster(String text) {
        List<PartitionInfo> partitions = new ArrayList<>();
        List<Node> nodes = new ArrayList<>();
        for (String topic : list(text, " ")) {
            String name = topic.substring(0, topic.indexOf('='));
            String[] racks = topic.substring(topic.indexOf('=') + 1).split(";");
            for (int i = 0; i < racks.length; i++) {
                List<Node> replicas = new ArrayList<>();
                for (String rack : racks[i].split(",")) {
                    Node node = new Node(nodes.size(), "h", 1, rack.equals("~") ? null : rack);
                    nodes.add(node);
                    replicas.add(node);
                }
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(name, i, all[0], all, all));
            }
        }
        return new Cluster("oracle", nodes, partitions, new HashSet<>(), new HashSet<>());
    }

    private static List<TopicPartition> partitions(String text) {
        return list(text, ",").stream()
            .map(p -> new TopicPartition(p.split(":")[0], Integer.parseInt(p.split(":")[1])))
            .collect(Collectors.toList());
    }

    private static List<String> list(String text, String separator) {
        return text.equals("~") ? List.of() : Arrays.asList(text.split(separator));
    }

    private static Optional<String> optional(String text) {
        return text.equals("~") ? Optional.empty() : Optional.of(text);
    }
}
