import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Reads partition 0 of a topic through Kafka's own consumer, and says which replica it prefers.
 * A line in: topic, how many values to wait for, then name=value settings, separated by blanks.
 * A line out: the values separated by commas, a tab, and the preferred read replica (-1: the leader).
 */
public class RackConsumer {
    private static final long PATIENCE_MS = 30_000;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            Properties settings = new Properties();
            for (int i = 2; i < words.length; i++) {
                int at = words[i].indexOf('=');
                settings.put(words[i].substring(0, at), words[i].substring(at + 1));
            }
            System.out.println(read(words[0], Integer.parseInt(words[1]), settings));
        }
    }

    private static String read(String topic, int wanted, Properties settings) {
        List<String> values = new ArrayList<>();
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (values.size() < wanted && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    values.add(record.value());
                }
            }
            return String.join(",", values) + "\t" + preferred(consumer);
        }
    }

    private static int preferred(KafkaConsumer<String, String> consumer) {
        for (Metric metric : consumer.metrics().values()) {
            if (metric.metricName().name().equals("preferred-read-replica")) {
                return ((Number) metric.metricValue()).intValue();
            }
        }
        return -1;
    }
}
