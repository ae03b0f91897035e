import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * The group coordinator's own assignors, a line in, a line out.
 *
 * In, separated by tabs: the assignor's name; HOMOGENEOUS or HETEROGENEOUS; topics as id=count,
 * with blanks; then each member as name|topics|instance|last target, with topics as id,id and a
 * target as id:0.1;id:2. "~" is "none". Out: name=target for each member, separated by blanks.
 */
public class KafkaGroupAssignors {
    private record Topics(Map<Uuid, Integer> counts) implements SubscribedTopicDescriber {
        public int numPartitions(Uuid topic) {
            return counts.getOrDefault(topic, -1);
        }

        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(assign(line.split("\t")));
        }
    }

    private static String assign(String[] word) {
        Map<Uuid, Integer> counts = new LinkedHashMap<>();
        for (String topic : word[2].split(" ")) {
            counts.put(id(topic.split("=")[0]), Integer.parseInt(topic.split("=")[1]));
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (String text : Arrays.copyOfRange(word, 3, word.length)) {
            String[] part = text.split("\\|");
            Map<Uuid, Set<Integer>> target = target(part[3]);
            target.forEach((topic, partitions) -> partitions.forEach(partition ->
                owners.computeIfAbsent(topic, each -> new HashMap<>()).put(partition, part[0])));
            members.put(part[0], new MemberSubscriptionAndAssignmentImpl(Optional.empty(),
                part[2].equals("~") ? Optional.empty() : Optional.of(part[2]),
                topics(part[1]), new Assignment(target)));
        }
        ConsumerGroupPartitionAssignor assignor =
            word[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        GroupAssignment given = assignor.assign(
            new GroupSpecImpl(members, SubscriptionType.valueOf(word[1]), owners),
            new Topics(counts));
        return members.keySet().stream()
            .map(name -> name + "=" + (given.members().containsKey(name)
                ? text(given.members().get(name).partitions()) : "~"))
            .collect(Collectors.joining(" "));
    }

    private static Uuid id(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16),
            Long.parseUnsignedLong(hex.substring(16), 16));
    }

    private static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    private static Set<Uuid> topics(String text) {
        return text.equals("~") ? Set.of() : Arrays.stream(text.split(","))
            .map(KafkaGroupAssignors::id).collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static Map<Uuid, Set<Integer>> target(String text) {
        Map<Uuid, Set<Integer>> target = new LinkedHashMap<>();
        for (String topic : text.equals("~") ? new String[0] : text.split(";")) {
            target.put(id(topic.split(":")[0]), Arrays.stream(topic.split(":")[1].split("\\."))
                .map(Integer::valueOf).collect(Collectors.toCollection(LinkedHashSet::new)));
        }
        return target;
    }

    private static String text(Map<Uuid, Set<Integer>> partitions) {
        String text = partitions.entrySet().stream()
            .map(each -> hex(each.getKey()) + ":" + each.getValue().stream().sorted()
                .map(String::valueOf).collect(Collectors.joining(".")))
            .sorted().collect(Collectors.joining(";"));
        return text.isEmpty() ? "~" : text;
    }
}
