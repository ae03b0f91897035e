import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends values through Kafka's own producer and says what became of each.
 * A line in: values separated by blanks (1:A goes to partition 1, | waits for the verdicts so far), a tab, then name=value settings separated by blanks.
 * A line out: "value verdict offset" each, separated by commas; or the reason for no producer.
 */
public class ScriptProducer {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] halves = line.split("\t");
            try {
                System.out.println(send(halves[0].split(" "), settings(halves[1])));
            } catch (Exception e) {
                System.out.println("no producer: " + e.getMessage().replace("\n", " "));
            }
        }
    }

    private static Properties settings(String text) {
        Properties settings = new Properties();
        for (String pair : text.split(" ")) {
            settings.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        return settings;
    }

    private static String send(String[] values, Properties settings) throws Exception {
        List<String> told = new ArrayList<>();
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        try {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            List<String> sent = new ArrayList<>();
            for (String value : values) {
                if (value.equals("|")) {
                    for (Future<RecordMetadata> future : futures) {
                        verdict(future);
                    }
                } else {
                    int partition = value.startsWith("1:") ? 1 : 0;
                    String text = value.replaceFirst("^1:", "");
                    sent.add(text.replace(".", ""));
                    futures.add(producer.send(new ProducerRecord<>("orders", partition, null, text)));
                }
            }
            for (int i = 0; i < sent.size(); i++) {
                told.add(sent.get(i) + " " + verdict(futures.get(i)));
            }
        } finally {
            producer.close(Duration.ZERO);
        }
        return String.join(",", told);
    }

    private static String verdict(Future<RecordMetadata> future) throws InterruptedException {
        try {
            return "acknowledged " + future.get().offset();
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            if (cause.getClass().getSimpleName().equals("TimeoutException")) {
                return "TIMED_OUT -1";
            }
            Errors error = cause instanceof ApiException ? Errors.forException(cause) : Errors.UNKNOWN_SERVER_ERROR;
            return error + " -1";
        }
    }
}
