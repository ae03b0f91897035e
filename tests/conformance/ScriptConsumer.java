import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.function.BooleanSupplier;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Runs a small program with Kafka's own consumer and says what the application saw.
 * A line in: steps (read 3, assigned 2, commit, poll 500, close), a tab, then name=value settings.
 * A line out: "assigned 1", "read A", "commit ok", "error X", ... separated by commas.
 */
public class ScriptConsumer {
    static final long PATIENCE_MS = 20_000;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] halves = line.split("\t");
            System.out.println(String.join(",", new ScriptConsumer().run(halves[0], settings(halves[1]))));
        }
    }

    private final List<String> seen = new ArrayList<>();
    private int read = 0;
    private int assigned = 0;

    private static Properties settings(String text) {
        Properties settings = new Properties();
        for (String pair : text.split(" ")) {
            settings.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        return settings;
    }

    private List<String> run(String program, Properties settings) {
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("orders"), new ConsumerRebalanceListener() {
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                assigned++;
                seen.add("assigned " + partitions.size());
            }

            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                if (!partitions.isEmpty()) seen.add("revoked " + partitions.size());
            }

            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                seen.add("lost " + partitions.size());
            }
        });
        for (String step : program.split(", ")) {
            String[] word = step.split(" ");
            int number = word.length > 1 ? Integer.parseInt(word[1]) : 0;
            long end = System.currentTimeMillis() + (word[0].equals("poll") ? number : PATIENCE_MS);
            switch (word[0]) {
                case "read": until(consumer, end, () -> read >= number); break;
                case "assigned": until(consumer, end, () -> assigned >= number); break;
                case "poll": until(consumer, end, () -> false); break;
                case "commit": commit(consumer); break;
                default: consumer.close();
            }
        }
        return seen;
    }

    private void until(KafkaConsumer<String, String> consumer, long end, BooleanSupplier holds) {
        while (!holds.getAsBoolean() && System.currentTimeMillis() < end) {
            try {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    read++;
                    seen.add("read " + record.value());
                }
            } catch (KafkaException e) {
                seen.add("error " + e.getClass().getSimpleName());
            }
        }
    }

    private void commit(KafkaConsumer<String, String> consumer) {
        try {
            consumer.commitSync();
            seen.add("commit ok");
        } catch (KafkaException e) {
            seen.add("commit " + e.getClass().getSimpleName());
        }
    }
}
