import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.TransactionAbortedException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Makes one call of Kafka's own transactional producer for each line, and says how it ended.
 * open, then name=value settings, each after a tab: a new producer.  close: the end of it.
 * init, begin, commit, abort; offsets for one of orders-0; send, value, partition; verdicts of all that was sent.
 */
public class ScriptTransactions {
    private static KafkaProducer<String, String> producer;
    private static List<String> values = new ArrayList<>();
    private static List<Future<RecordMetadata>> futures = new ArrayList<>();
    private static Set<String> failed = new HashSet<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split("\t")));
        }
    }

    private static String answer(String[] words) {
        try {
            switch (words[0]) {
                case "open":
                    open(words);
                    break;
                case "init":
                    try {
                        producer.initTransactions();
                    } finally {
                        awaitStart();
                    }
                    break;
                case "begin":
                    producer.beginTransaction();
                    break;
                case "commit":
                    producer.commitTransaction();
                    break;
                case "abort":
                    producer.abortTransaction();
                    break;
                case "offsets":
                    producer.sendOffsetsToTransaction(
                        Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(7)),
                        new ConsumerGroupMetadata("billing", 4, "member-1", Optional.empty()));
                    break;
                case "send":
                    values.add(words[1]);
                    futures.add(producer.send(new ProducerRecord<>("orders", Integer.parseInt(words[2]), null, words[1])));
                    break;
                case "verdicts":
                    return verdicts();
                default:
                    producer.close(Duration.ZERO);
            }
            return "ok";
        } catch (Exception e) {
            return name(e);
        }
    }

    private static void open(String[] words) {
        Properties settings = new Properties();
        for (int i = 1; i < words.length; i++) {
            settings.put(words[i].substring(0, words[i].indexOf('=')), words[i].substring(words[i].indexOf('=') + 1));
        }
        values = new ArrayList<>();
        futures = new ArrayList<>();
        failed = new HashSet<>();
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static String verdicts() throws InterruptedException {
        List<String> found = new ArrayList<>();
        for (int i = 0; i < futures.size(); i++) {
            try {
                found.add(values.get(i) + " acknowledged " + futures.get(i).get().offset());
            } catch (ExecutionException e) {
                if (failed.add(values.get(i))) {
                    awaitState();
                }
                found.add(values.get(i) + " " + name(e.getCause()));
            }
        }
        return String.join(",", found);
    }

    /**
     * The future fails before the transaction does: a commit in between would not see the error yet.
     */
    private static void awaitState() throws InterruptedException {
        try {
            Field field = KafkaProducer.class.getDeclaredField("transactionManager");
            field.setAccessible(true);
            Object manager = field.get(producer);
            while (is(manager, "hasOngoingTransaction") && !is(manager, "hasError") && !is(manager, "isCompleting")) {
                Thread.sleep(1);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /**
     * The call ends before its state does: the next one in between would be a misuse.  Where the
     * access to the name is missing, the sender's thread then makes ABORTABLE_ERROR to UNINITIALIZED.
     */
    private static void awaitStart() throws InterruptedException {
        try {
            Field field = KafkaProducer.class.getDeclaredField("transactionManager");
            field.setAccessible(true);
            Object manager = field.get(producer);
            Field state = manager.getClass().getDeclaredField("currentState");
            state.setAccessible(true);
            Field error = manager.getClass().getDeclaredField("lastError");
            error.setAccessible(true);
            while (state.get(manager).toString().equals("INITIALIZING")
                    || state.get(manager).toString().equals("ABORTABLE_ERROR")
                    && error.get(manager) instanceof AuthorizationException) {
                Thread.sleep(1);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static boolean is(Object manager, String question) throws ReflectiveOperationException {
        Method method = manager.getClass().getDeclaredMethod(question);
        method.setAccessible(true);
        return (Boolean) method.invoke(manager);
    }

    private static String name(Throwable e) {
        if (e instanceof IllegalStateException) {
            return "misuse";
        }
        if (e instanceof CommitFailedException) {
            return "commit failed";
        }
        if (e instanceof TransactionAbortedException) {
            return "aborted";
        }
        if (e instanceof ApiException) {
            return Errors.forException(e).name();
        }
        return e instanceof KafkaException && e.getCause() != null ? name(e.getCause()) : e.toString();
    }
}
