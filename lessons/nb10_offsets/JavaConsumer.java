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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.network.PlaintextTransportLayer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;

/**
 * Kafka's own consumer, asked by notebook 10.  Argument: the bootstrap address.
 * A line in: a question and its words, separated by tabs.  A line out: the fields of the answer.
 */
public class JavaConsumer {
    /** The client's clock counts whole milliseconds. */
    static final long CLOCK_MS = 5;
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
            case "waits": return waits(words[1]);
            case "starts": return starts(words[1], words[2]);
            case "invalid topic": return invalidTopic(words[1]);
            case "shared producer": return sharedProducer(words[1]);
            case "three threads": return threeThreads(words[1]);
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
            case "subscribed": return subscribed(words[1], words[2]);
            case "joined": return joined();
            case "left": return left();
            case "commits by itself": return commitsByItself(words[1], words[2], words[3]);
            case "late heartbeats": return lateHeartbeats();
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

    /** topic, settings separated by commas: the records of each poll, to the end, and of a fetch. */
    static String polls(String topic, String given) {
        List<String> counts = new ArrayList<>();
        double fetched = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic, given.split(","))) {
            TopicPartition place = new TopicPartition(topic, 0);
            long end = consumer.endOffsets(Set.of(place)).get(place);
            consumer.seekToBeginning(Set.of(place));
            while (consumer.position(place) < end) {
                int count = consumer.poll(Duration.ofSeconds(2)).count();
                if (count > 0) counts.add(String.valueOf(count));
            }
            fetched = metric(consumer, "consumer-fetch-manager-metrics", "records-per-request-avg");
        }
        return String.join(" ", counts) + "\t" + fetched;
    }

    /** The metric of the whole client, without the topics' own. */
    static double metric(KafkaConsumer<byte[], byte[]> consumer, String group, String name) {
        for (var metric : consumer.metrics().values()) {
            boolean whole = !metric.metricName().tags().containsKey("topic");
            if (whole && metric.metricName().group().equals(group) && metric.metricName().name().equals(name)) {
                return (double) metric.metricValue();
            }
        }
        throw new IllegalStateException("no metric " + name);
    }

    /** Polls of 300 ms and of 0 ms at the end of the log, and of 60 s before records. */
    static String waits(String topic) {
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = assigned(topic)) {
            TopicPartition place = new TopicPartition(topic, 0);
            consumer.seekToEnd(Set.of(place));
            consumer.position(place);
            found.add(waits(consumer, 300));
            found.add(waits(consumer, 0));
            consumer.seekToBeginning(Set.of(place));
            found.add(waits(consumer, 60_000));
        }
        return String.join("\t", found);
    }

    static String waits(KafkaConsumer<byte[], byte[]> consumer, long limitMs) {
        long began = System.nanoTime();
        int count = consumer.poll(Duration.ofMillis(limitMs)).count();
        long tookMs = (System.nanoTime() - began) / 1_000_000;
        boolean whole = limitMs > 0 && tookMs >= limitMs - CLOCK_MS;
        return (whole ? "waits" : "at once") + (count > 0 ? ", records" : "");
    }

    /** topic, auto.offset.reset: the first offset of a group without one, or the exception of poll. */
    static String starts(String topic, String reset) {
        try (KafkaConsumer<byte[], byte[]> consumer =
                assigned(topic, "auto.offset.reset=" + reset, "group.id=java-" + reset.replace(':', '-'))) {
            var records = consumer.poll(Duration.ofSeconds(5));
            return records.isEmpty() ? "nothing" : String.valueOf(records.iterator().next().offset());
        } catch (Exception e) {
            return name(e);
        }
    }

    static String invalidTopic(String topic) {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings())) {
            consumer.subscribe(List.of(topic));
            consumer.poll(Duration.ofSeconds(5));
            return "returned";
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

    /** Eight threads send a hundred records each with one producer: how many are acknowledged. */
    static String sharedProducer(String topic) throws Exception {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("key.serializer", ByteArraySerializer.class.getName());
        given.put("value.serializer", ByteArraySerializer.class.getName());
        AtomicInteger acknowledged = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(given)) {
            for (int thread = 0; thread < 8; thread++) {
                threads.submit(() -> {
                    for (int i = 0; i < 100; i++) {
                        producer.send(new ProducerRecord<>(topic, new byte[10]), (place, e) -> {
                            if (e == null) acknowledged.incrementAndGet();
                        });
                    }
                });
            }
            threads.shutdown();
            threads.awaitTermination(20, TimeUnit.SECONDS);
        }
        return String.valueOf(acknowledged.get());
    }

    /**
     * Three threads, each with a consumer of its own, in one group: how many partitions each gets.
     * They read until SIGTERM; then the shutdown hook wakes them up and waits for them.
     */
    static String threeThreads(String topic) throws Exception {
        AtomicIntegerArray owned = new AtomicIntegerArray(3);
        List<KafkaConsumer<byte[], byte[]>> consumers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int number = i;
            KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(settings("group.id=java-threads", "heartbeat.interval.ms=300"));
            consumers.add(consumer);
            threads.add(new Thread(() -> {
                try {
                    consumer.subscribe(List.of(topic));
                    while (true) {
                        consumer.poll(Duration.ofMillis(100));
                        owned.set(number, consumer.assignment().size());
                    }
                } catch (WakeupException e) {
                    // the way out of the loop
                } finally {
                    consumer.close();
                }
            }));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumers.forEach(KafkaConsumer::wakeup);
            for (Thread thread : threads) {
                try { thread.join(); } catch (InterruptedException e) { return; }
            }
        }));
        threads.forEach(Thread::start);
        long ends = System.nanoTime() + 20_000_000_000L;
        while (!owned.toString().equals("[2, 2, 2]") && System.nanoTime() < ends) Thread.sleep(20);
        return owned.get(0) + "\t" + owned.get(1) + "\t" + owned.get(2);
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

    /** No broker answers: seekToBeginning, poll, and the exception of position(), after how long. */
    static String patience(String limitMs) {
        Properties given = settings("default.api.timeout.ms=" + limitMs, "request.timeout.ms=500");
        given.put("bootstrap.servers", "127.0.0.1:1");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(given)) {
            TopicPartition place = new TopicPartition("orders", 0);
            consumer.assign(List.of(place));
            String sought = "returned";
            try { consumer.seekToBeginning(List.of(place)); } catch (Exception e) { sought = name(e); }
            String polled = consumer.poll(Duration.ofMillis(200)).isEmpty() ? "nothing" : "records";
            String heard = "an offset";
            long began = System.nanoTime();
            try { consumer.position(place); } catch (Exception e) { heard = name(e); }
            return sought + "\t" + polled + "\t" + heard + "\t" + (System.nanoTime() - began) / 1_000_000;
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
            List<String> headers = new ArrayList<>();
            for (var header : first.headers()) headers.add(header.key() + "=" + new String(header.value()));
            return String.join("\t",
                    first.topic() + "-" + first.partition() + "@" + first.offset(),
                    String.valueOf(first.leaderEpoch().orElse(-1)),
                    new String(first.key()), new String(first.value()),
                    String.join(" ", headers), first.timestampType().toString(),
                    String.join(" ", producers));
        }
    }

    static String noBootstrap() {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings("bootstrap.servers=-"))) {
            return "made";
        } catch (Exception e) {
            return name(e);
        }
    }

    /**
     * SO_RCVBUF and SO_SNDBUF of a connection: by default, with -1, with 32 kB to receive; and of a
     * socket of its own, which sets neither.
     */
    static String sockets(String topic) throws Exception {
        List<String> found = new ArrayList<>();
        String[] sizes = {"", "receive.buffer.bytes=-1,send.buffer.bytes=-1", "receive.buffer.bytes=32768"};
        for (String size : sizes) {
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
        String[] address = bootstrap.split(",")[0].split(":");
        try (java.net.Socket own = new java.net.Socket(address[0], Integer.parseInt(address[1]))) {
            found.add(own.getReceiveBufferSize() + " " + own.getSendBufferSize());
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

    /** ms: that consumer polls for so long; how many connections it closes, and opens, meanwhile. */
    static String closed(String ms) {
        double closed = metric(waiting, "consumer-metrics", "connection-close-total");
        double opened = metric(waiting, "consumer-metrics", "connection-creation-total");
        long ends = System.nanoTime() + Long.parseLong(ms) * 1_000_000;
        while (System.nanoTime() < ends) waiting.poll(Duration.ofMillis(200));
        closed = metric(waiting, "consumer-metrics", "connection-close-total") - closed;
        opened = metric(waiting, "consumer-metrics", "connection-creation-total") - opened;
        return (int) closed + "\t" + (int) opened;
    }

    /** topic, group: a consumer that has subscribed, and has not polled for a second. */
    static String subscribed(String topic, String group) throws Exception {
        waiting = new KafkaConsumer<>(settings("group.id=" + group));
        waiting.subscribe(List.of(topic));
        Thread.sleep(1_000);
        return "subscribed";
    }

    /** That consumer polls until it has partitions: how many. */
    static String joined() {
        long ends = System.nanoTime() + 20_000_000_000L;
        while (waiting.assignment().isEmpty() && System.nanoTime() < ends) waiting.poll(Duration.ofMillis(100));
        return String.valueOf(waiting.assignment().size());
    }

    static String left() {
        waiting.close();
        waiting = null;
        return "left";
    }

    /** topic, group, ms: a record in each poll, for so long, with the defaults of auto-commit. */
    static String commitsByItself(String topic, String group, String ms) throws Exception {
        int count = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                assigned(topic, "group.id=" + group, "enable.auto.commit=-", "max.poll.records=1")) {
            long ends = System.nanoTime() + Long.parseLong(ms) * 1_000_000;
            while (System.nanoTime() < ends) {
                count += consumer.poll(Duration.ofMillis(100)).count();
                Thread.sleep(100);
            }
        }
        return String.valueOf(count);
    }

    /** A heartbeat.interval.ms above session.timeout.ms. */
    static String lateHeartbeats() {
        Properties given = settings("heartbeat.interval.ms=50000", "session.timeout.ms=45000");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(given)) {
            return "made";
        } catch (Exception e) {
            return name(e.getCause() == null ? e : e.getCause());
        }
    }

    static Object field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
