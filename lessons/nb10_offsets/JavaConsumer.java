import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.network.PlaintextTransportLayer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;

/**
 * Kafka's own consumer, asked by notebook 10.  Argument: the bootstrap address.
 * A line in: a question and its words, separated by tabs.  A line out: the fields of the answer.
 */
public class JavaConsumer {
    static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            String answer;
            try {
                answer = answer(words);
            } catch (Exception e) {
                answer = "error\t" + name(e) + "\t" + String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
            }
            System.out.println(answer);
        }
    }

    static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "polls": return polls(words[1], words[2]);
            case "starts": return starts(words[1], words[2]);
            case "wakeup": return wakeup(words[1]);
            case "second thread": return secondThread(words[1]);
            case "exclusive": return exclusive(words[1]);
            case "no group": return noGroup(words[1]);
            case "deserializers": return deserializers(words[1]);
            case "patience": return patience(words[1]);
            case "fields": return fields(words[1]);
            case "no bootstrap": return noBootstrap();
            case "sockets": return sockets(words[1]);
            case "open": return open(words[1], words[2]);
            case "closed": return closed(words[1]);
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    static String name(Throwable e) { return e.getClass().getSimpleName(); }

    static Properties settings(String... pairs) {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("key.deserializer", ByteArrayDeserializer.class.getName());
        given.put("value.deserializer", ByteArrayDeserializer.class.getName());
        given.put("group.id", "java");
        given.put("enable.auto.commit", "false");
        given.put("auto.offset.reset", "earliest");
        for (String pair : pairs) {
            if (pair.contains("=")) given.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        given.values().removeIf(value -> "-".equals(value));
        return given;
    }

    static KafkaConsumer<byte[], byte[]> assigned(String topic, String... pairs) {
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(pairs));
        consumer.assign(List.of(new TopicPartition(topic, 0)));
        return consumer;
    }

    /** topic, settings separated by commas: how many records each poll returns, to the end. */
    static String polls(String topic, String given) {
        List<String> counts = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic, given.split(","))) {
            TopicPartition place = new TopicPartition(topic, 0);
            long end = consumer.endOffsets(Set.of(place)).get(place);
            consumer.seekToBeginning(Set.of(place));
            while (consumer.position(place) < end) {
                int count = consumer.poll(Duration.ofSeconds(2)).count();
                if (count > 0) counts.add(String.valueOf(count));
            }
        }
        return String.join(" ", counts);
    }

    /** topic, auto.offset.reset: the first offset of a group without one, or the exception. */
    static String starts(String topic, String reset) {
        try (KafkaConsumer<byte[], byte[]> consumer =
                assigned(topic, "auto.offset.reset=" + reset, "group.id=java-" + reset.replace(':', '-'))) {
            return String.valueOf(consumer.position(new TopicPartition(topic, 0)));
        } catch (Exception e) {
            return name(e);
        }
    }

    /** A poll of 60 s that another thread ends; and a wakeup before the poll. */
    static String wakeup(String topic) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic)) {
            consumer.seekToEnd(consumer.assignment());
            ExecutorService other = Executors.newSingleThreadExecutor();
            long began = System.nanoTime();
            other.submit(() -> { Thread.sleep(300); consumer.wakeup(); return null; });
            String first = "returned";
            try { consumer.poll(Duration.ofSeconds(60)); } catch (WakeupException e) { first = name(e); }
            long tookMs = (System.nanoTime() - began) / 1_000_000;
            other.shutdown();
            other.awaitTermination(5, TimeUnit.SECONDS);
            consumer.wakeup();
            String next = "returned";
            try { consumer.poll(Duration.ofMillis(100)); } catch (WakeupException e) { next = name(e); }
            String last = "returned";
            try { consumer.poll(Duration.ofMillis(100)); } catch (WakeupException e) { last = name(e); }
            return first + "\t" + tookMs + "\t" + next + "\t" + last;
        }
    }

    /** A call from a second thread while the first one polls. */
    static String secondThread(String topic) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic)) {
            consumer.seekToEnd(consumer.assignment());
            ExecutorService other = Executors.newSingleThreadExecutor();
            Future<String> heard = other.submit(() -> {
                Thread.sleep(300);
                try { consumer.assignment(); return "allowed"; } catch (Exception e) { return name(e); }
            });
            consumer.poll(Duration.ofSeconds(1));
            String answer = heard.get(5, TimeUnit.SECONDS);
            other.shutdown();
            return answer;
        }
    }

    static String exclusive(String topic) {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings())) {
            consumer.subscribe(List.of(topic));
            try {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
                return "allowed";
            } catch (Exception e) {
                return name(e);
            }
        }
    }

    /** Without a group.id: subscribe, commit, assign and read. */
    static String noGroup(String topic) {
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings("group.id=-"))) {
            try { consumer.subscribe(List.of(topic)); found.add("allowed"); } catch (Exception e) { found.add(name(e)); }
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            consumer.seekToBeginning(consumer.assignment());
            found.add(consumer.poll(Duration.ofSeconds(5)).isEmpty() ? "nothing read" : "records read");
            try { consumer.commitSync(); found.add("allowed"); } catch (Exception e) { found.add(name(e)); }
        }
        return String.join("\t", found);
    }

    /** No key.deserializer; then values that are no integers: twice, and past the record. */
    static String deserializers(String topic) {
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings("key.deserializer=-"))) {
            found.add("made");
        } catch (Exception e) {
            found.add(name(e));
        }
        Properties wrong = settings("value.deserializer=" + IntegerDeserializer.class.getName());
        TopicPartition place = new TopicPartition(topic, 0);
        try (KafkaConsumer<byte[], Integer> consumer = new KafkaConsumer<>(wrong)) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            for (int i = 0; i < 2; i++) {
                try { consumer.poll(Duration.ofSeconds(5)); found.add("records"); } catch (Exception e) { found.add(name(e)); }
                found.add(String.valueOf(consumer.position(place)));
            }
            consumer.seek(place, consumer.position(place) + 1);
            found.add(String.valueOf(consumer.position(place)));
        }
        return String.join("\t", found);
    }

    /** position() when no broker answers: the exception, and after how long. */
    static String patience(String limitMs) {
        Properties given = settings("default.api.timeout.ms=" + limitMs, "request.timeout.ms=500");
        given.put("bootstrap.servers", "127.0.0.1:1");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(given)) {
            TopicPartition place = new TopicPartition("orders", 0);
            consumer.assign(List.of(place));
            long began = System.nanoTime();
            String polled = consumer.poll(Duration.ofMillis(200)).isEmpty() ? "nothing" : "records";
            String heard = "an offset";
            began = System.nanoTime();
            try { consumer.position(place); } catch (Exception e) { heard = name(e); }
            return polled + "\t" + heard + "\t" + (System.nanoTime() - began) / 1_000_000;
        }
    }

    /** What a consumed record says of itself: the names of its accessors that concern the producer. */
    static String fields(String topic) {
        List<String> producers = new ArrayList<>();
        for (var method : ConsumerRecord.class.getMethods()) {
            String text = method.getName().toLowerCase();
            if (text.contains("producer") || text.contains("sequence")) producers.add(method.getName());
        }
        try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic)) {
            consumer.seekToBeginning(consumer.assignment());
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofSeconds(5));
            ConsumerRecord<byte[], byte[]> first = records.iterator().next();
            return first.topic() + "-" + first.partition() + "@" + first.offset() + "\t" + first.leaderEpoch().orElse(-1)
                    + "\t" + String.join(" ", producers);
        }
    }

    static String noBootstrap() {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings("bootstrap.servers=-"))) {
            return "made";
        } catch (Exception e) {
            return name(e);
        }
    }

    /** SO_RCVBUF and SO_SNDBUF of a connection, by default and with -1. */
    static String sockets(String topic) throws Exception {
        List<String> found = new ArrayList<>();
        for (String size : new String[] {"", "receive.buffer.bytes=-1,send.buffer.bytes=-1"}) {
            try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic, size.split(","))) {
                consumer.seekToBeginning(consumer.assignment());
                consumer.poll(Duration.ofSeconds(5));
                Object network = field(field(field(consumer, "delegate"), "client"), "client");
                Map<?, ?> channels = (Map<?, ?>) field(field(network, "selector"), "channels");
                Object channel = channels.values().iterator().next();
                java.net.Socket socket = ((PlaintextTransportLayer) field(channel, "transportLayer")).socketChannel().socket();
                found.add(socket.getReceiveBufferSize() + " " + socket.getSendBufferSize());
            }
        }
        return String.join("\t", found);
    }

    static KafkaConsumer<byte[], byte[]> waiting;

    /** topic, request.timeout.ms: a consumer that stays open and has read the topic to its end. */
    static String open(String topic, String limitMs) {
        if (waiting != null) waiting.close(Duration.ZERO);
        waiting = assigned(topic, "request.timeout.ms=" + limitMs);
        waiting.seekToBeginning(waiting.assignment());
        return String.valueOf(waiting.poll(Duration.ofSeconds(10)).count());
    }

    /** ms: that consumer polls for so long; how many of its connections it has closed. */
    static String closed(String ms) {
        long ends = System.nanoTime() + Long.parseLong(ms) * 1_000_000;
        while (System.nanoTime() < ends) waiting.poll(Duration.ofMillis(200));
        double sum = 0;
        for (var metric : waiting.metrics().values()) {
            if (metric.metricName().name().equals("connection-close-total")
                    && metric.metricName().group().equals("consumer-metrics")) {
                sum = (double) metric.metricValue();
            }
        }
        return String.valueOf((int) sum);
    }

    static Object field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
