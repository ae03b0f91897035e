import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A process whose threads are members of groups, by Kafka's own consumer; host.py has the commands. */
public class MemberHost {
    static final Queue<String> EVENTS = new ConcurrentLinkedQueue<>();

    public static void main(String[] arguments) throws Exception {
        Map<String, Member> members = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            String answer = "ok";
            switch (words[0]) {
                case "open": members.put(words[1], new Member(words)); break;
                case "commit": members.get(words[1]).toCommit.add(words[2]); break;
                case "hold": members.get(words[1]).held = true; break;
                case "release": members.get(words[1]).held = false; break;
                case "close": members.get(words[1]).closing = true; break;
                default: answer = news();
            }
            System.out.println(answer);
        }
        System.exit(0);
    }

    private static String news() {
        StringBuilder answer = new StringBuilder("news");
        for (String event = EVENTS.poll(); event != null; event = EVENTS.poll()) {
            answer.append('\t').append(event);
        }
        return answer.toString();
    }

    static class Member implements ConsumerRebalanceListener, Runnable {
        final Queue<String> toCommit = new ConcurrentLinkedQueue<>();
        volatile boolean held = false;
        volatile boolean closing = false;
        private final String name;
        private final String topic;
        private final Properties settings = new Properties();
        private final Set<Integer> owned = new TreeSet<>();
        private final Set<Integer> unread = new TreeSet<>();
        private boolean mute = false;
        private KafkaConsumer<byte[], byte[]> consumer;

        Member(String[] words) {
            name = words[1];
            topic = words[2];
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            for (int i = 3; i < words.length; i++) {
                int at = words[i].indexOf('=');
                settings.put(words[i].substring(0, at), words[i].substring(at + 1));
            }
            if (!settings.containsKey("group.protocol")) {
                settings.put("partition.assignment.strategy",
                    "org.apache.kafka.clients.consumer.RangeAssignor");
            }
            Thread thread = new Thread(this);
            thread.setDaemon(true);
            thread.start();
        }

        public void run() {
            try {
                consumer = new KafkaConsumer<>(
                    settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                consumer.subscribe(List.of(topic), this);
                while (!closing) {
                    commitWhatWaits();
                    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                        if (unread.remove(record.partition())) {
                            note("read", Set.of(record.partition()), "" + record.offset());
                        }
                    }
                }
                note("taken", owned, "");
                mute = true;
                consumer.close();
                mute = false;
                note("left", Set.of(), "");
            } catch (Exception e) {
                mute = false;
                note("error", Set.of(), e.toString());
            }
        }

        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owned.addAll(numbers(partitions));
            unread.addAll(numbers(partitions));
            note("given", numbers(partitions), "");
        }

        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            gone(partitions, "taken");
        }

        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            gone(partitions, "lost");
        }

        private void gone(Collection<TopicPartition> partitions, String kind) {
            while (held) {
                commitWhatWaits();
                try {
                    Thread.sleep(20);
                } catch (InterruptedException e) {
                    return;
                }
            }
            owned.removeAll(numbers(partitions));
            unread.removeAll(numbers(partitions));
            note(kind, numbers(partitions), "");
        }

        private void commitWhatWaits() {
            for (String pairs = toCommit.poll(); pairs != null; pairs = toCommit.poll()) {
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (String pair : pairs.split(",")) {
                    String[] halves = pair.split(":");
                    offsets.put(new TopicPartition(topic, Integer.parseInt(halves[0])),
                        new OffsetAndMetadata(Long.parseLong(halves[1])));
                }
                try {
                    consumer.commitSync(offsets);
                    note("committed", Set.of(), "");
                } catch (Exception e) {
                    note("refused", Set.of(), e.toString());
                }
            }
        }

        private static Set<Integer> numbers(Collection<TopicPartition> partitions) {
            return partitions.stream().map(TopicPartition::partition)
                .collect(Collectors.toCollection(TreeSet::new));
        }

        private void note(String kind, Collection<Integer> partitions, String detail) {
            if (mute) return;
            Instant now = Instant.now();
            long micros = now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
            String numbers = new TreeSet<>(partitions).stream().map(String::valueOf)
                .collect(Collectors.joining(","));
            EVENTS.add(String.join("|", name, "" + micros, kind, numbers,
                detail.replaceAll("[\t\n|]", " ")));
        }
    }
}
