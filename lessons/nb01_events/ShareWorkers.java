import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Workers of one share group: bootstrap, topic, group, then each worker's milliseconds per record.
 * Prints a line for each record processed: worker, delivery count, value. Ends with its input.
 */
public class ShareWorkers {
    public static void main(String[] given) throws Exception {
        AtomicBoolean ending = new AtomicBoolean();
        Thread[] workers = new Thread[given.length - 3];
        for (int number = 0; number < workers.length; number++) {
            int worker = number;
            long workMs = Long.parseLong(given[3 + number]);
            workers[number] = new Thread(() -> work(given, worker, workMs, ending));
            workers[number].start();
        }
        while (System.in.read() >= 0) { }
        ending.set(true);
        for (Thread worker : workers) worker.join(10_000);
        System.exit(0);
    }

    static void work(String[] given, int worker, long workMs, AtomicBoolean ending) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given[0]);
        settings.put("group.id", given[2]);
        settings.put("max.poll.records", "1");
        settings.put("share.acquire.mode", "record_limit");
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(given[1]));
            while (!ending.get()) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    sleep(workMs);
                    synchronized (ShareWorkers.class) {
                        System.out.println(worker + " " + record.deliveryCount().orElse((short) 0) + " " + record.value());
                        System.out.flush();
                    }
                }
                consumer.commitSync();
            }
        }
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
