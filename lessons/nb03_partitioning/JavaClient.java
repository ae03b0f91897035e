import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.network.PlaintextTransportLayer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Utils;

/**
 * Kafka's own producer, asked by notebook 03.  Argument: the bootstrap address.
 * A line in: a question and its words, separated by tabs.  A line out: the fields of the answer.
 */
public class JavaClient {
    static String bootstrap;

    /** Keys that begin with "vip" go to partition 0, all others to the partitions behind it. */
    public static class VipFirst implements Partitioner {
        public int partition(String topic, Object key, byte[] keyBytes, Object value, byte[] valueBytes, Cluster cluster) {
            int count = cluster.partitionsForTopic(topic).size();
            if (((String) key).startsWith("vip")) return 0;
            return 1 + Utils.toPositive(Utils.murmur2(keyBytes)) % (count - 1);
        }
        public void close() { }
        public void configure(Map<String, ?> configs) { }
    }

    /** The interface has one method.  A record that failed has an error, and no offset. */
    static class Heard implements Callback {
        String error;
        long offset;

        public void onCompletion(RecordMetadata metadata, Exception exception) {
            error = exception == null ? "null" : name(exception);
            offset = metadata.offset();
        }
    }

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
            case "hash": return hash(words);
            case "partitions": return partitions(words);
            case "no metadata": return noMetadata();
            case "small buffer": return smallBuffer(words[1]);
            case "full buffer": return fullBuffer(words[1]);
            case "interrupted": return interrupted();
            case "serializers": return serializers(words[1]);
            case "settings": return settingNames();
            case "one callback": return oneCallback(words[1]);
            case "callbacks": return callbacks(words[1]);
            case "slow callback": return slowCallback(words[1]);
            case "sockets": return sockets(words[1]);
            case "metrics": return metrics(words[1], words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]), Integer.parseInt(words[5]));
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    static String name(Throwable e) { return e.getClass().getSimpleName(); }

    static Properties settings(String... pairs) {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("key.serializer", StringSerializer.class.getName());
        given.put("value.serializer", StringSerializer.class.getName());
        for (String pair : pairs) {
            if (pair.contains("=")) given.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        if ("VipFirst".equals(given.get("partitioner.class"))) given.put("partitioner.class", VipFirst.class);
        return given;
    }

    /** The signed murmur2 of each word. */
    static String hash(String[] words) {
        List<String> found = new ArrayList<>();
        for (int i = 1; i < words.length; i++) found.add(String.valueOf(Utils.murmur2(words[i].getBytes())));
        return String.join("\t", found);
    }

    /** topic, settings separated by commas, keys ("-" for none): the partition of each record. */
    static String partitions(String[] words) throws Exception {
        List<String> found = new ArrayList<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings(words[2].split(",")))) {
            producer.partitionsFor(words[1]);
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 3; i < words.length; i++) {
                String key = words[i].equals("-") ? null : words[i];
                sent.add(producer.send(new ProducerRecord<>(words[1], key, "value " + i)));
            }
            producer.flush();
            for (Future<RecordMetadata> each : sent) found.add(String.valueOf(each.get().partition()));
        }
        return String.join("\t", found);
    }

    /** What send() does where a topic is not known, and partitionsFor() where no broker is there. */
    static String noMetadata() throws Exception {
        List<String> found = new ArrayList<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings("max.block.ms=400"))) {
            String[] seen = new String[2];
            long began = System.nanoTime();
            Future<RecordMetadata> future = producer.send(new ProducerRecord<>("nowhere", "x"), (metadata, error) -> {
                seen[0] = name(error);
                seen[1] = Thread.currentThread().getName();
            });
            long ms = (System.nanoTime() - began) / 1_000_000;
            found.add(String.valueOf(ms));
            found.add(cause(future));
            found.add(free(producer));
            found.add(seen[1].startsWith("kafka-producer") ? "I/O thread" : "caller's thread");
        }
        KafkaProducer<String, String> alone = new KafkaProducer<>(settings("bootstrap.servers=127.0.0.1:1", "max.block.ms=400"));
        long began = System.nanoTime();
        try {
            alone.partitionsFor("orders");
            found.add("returned");
        } catch (Exception e) {
            found.add(name(e));
        }
        found.add(String.valueOf((System.nanoTime() - began) / 1_000_000));
        alone.close(Duration.ZERO);
        return String.join("\t", found);
    }

    static String cause(Future<RecordMetadata> future) throws InterruptedException {
        try {
            future.get();
            return "success";
        } catch (ExecutionException e) {
            return name(e.getCause()) + ": " + e.getCause().getMessage();
        }
    }

    static String free(KafkaProducer<?, ?> producer) {
        return String.valueOf(Math.round(metric(producer, "buffer-available-bytes")));
    }

    static KafkaProducer<String, String> small;

    /** A producer with room for four batches, which knows its topic. */
    static String smallBuffer(String topic) throws Exception {
        small = new KafkaProducer<>(settings(
            "buffer.memory=65536", "batch.size=16384", "max.block.ms=400", "linger.ms=0", "request.timeout.ms=20000"));
        for (int attempt = 0; ; attempt++) {
            try {
                return String.valueOf(small.partitionsFor(topic).size());
            } catch (TimeoutException e) {
                if (attempt == 20) throw e;
            }
        }
    }

    /** The leaders are silent now: how many records of 100 bytes, each to another partition, get in. */
    static String fullBuffer(String topic) throws Exception {
        KafkaProducer<String, String> producer = small;
        int count = producer.partitionsFor(topic).size();
        int taken = 0;
        String error = "none";
        long blocked = 0;
        for (int i = 0; i < count; i++) {
            long began = System.nanoTime();
            Future<RecordMetadata> future = producer.send(new ProducerRecord<>(topic, i, null, "x".repeat(100)));
            long ms = (System.nanoTime() - began) / 1_000_000;
            if (future.isDone()) {
                error = cause(future);
                blocked = ms;
                break;
            }
            taken++;
        }
        String free = free(producer);
        producer.close(Duration.ZERO);
        return taken + "\t" + error + "\t" + blocked + "\t" + free;
    }

    static String interrupted() throws Exception {
        String[] found = new String[2];
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings("bootstrap.servers=127.0.0.1:1", "max.block.ms=5000"));
        Thread sender = new Thread(() -> {
            try {
                producer.send(new ProducerRecord<>("orders", "x"));
                found[0] = "returned";
            } catch (Exception e) {
                found[0] = name(e);
                found[1] = String.valueOf(Thread.currentThread().isInterrupted());
            }
        });
        sender.start();
        Thread.sleep(150);
        sender.interrupt();
        sender.join(5000);
        producer.close(Duration.ZERO);
        return found[0] + "\t" + found[1];
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static String serializers(String topic) throws Exception {
        List<String> found = new ArrayList<>();
        for (String missing : new String[] {"key.serializer", "value.serializer"}) {
            Properties without = settings();
            without.remove(missing);
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(without)) {
                found.add("constructed");
            } catch (Exception e) {
                found.add(name(e));
            }
        }
        try (KafkaProducer producer = new KafkaProducer(settings())) {
            double before = metric(producer, "record-send-total");
            try {
                producer.send(new ProducerRecord(topic, 7, "value"));
                found.add("sent");
            } catch (Exception e) {
                found.add(name(e));
            }
            found.add(String.valueOf(Math.round(metric(producer, "record-send-total") - before)));
        }
        HexFormat hex = HexFormat.of();
        found.add(hex.formatHex(new StringSerializer().serialize(topic, "7")));
        found.add(hex.formatHex(new IntegerSerializer().serialize(topic, 7)));
        found.add(hex.formatHex(new LongSerializer().serialize(topic, 7L)));
        return String.join("\t", found);
    }

    /** How many settings a producer has, and the names of those without a default. */
    static String settingNames() {
        Set<String> names = new TreeSet<>(ProducerConfig.configNames());
        int count = names.size();
        names.removeAll(ProducerConfig.configDef().defaultValues().keySet());
        return count + "\t" + String.join("\t", names);
    }

    static KafkaProducer<String, String> strict;

    /** A record with acks=all and no second attempt: the error and the offset that its callback gets. */
    static String oneCallback(String topic) {
        if (strict == null) strict = new KafkaProducer<>(settings("acks=all", "retries=0"));
        Heard heard = new Heard();
        strict.send(new ProducerRecord<>(topic, "x"), heard);
        strict.flush();
        return heard.error + "\t" + heard.offset;
    }

    /** The thread of a callback, and whether offsets come in order. */
    static String callbacks(String topic) throws Exception {
        Set<String> threads = new LinkedHashSet<>();
        List<Long> offsets = new ArrayList<>();
        List<String> returned = new ArrayList<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings("client.id=shop"))) {
            producer.partitionsFor(topic);
            for (int i = 0; i < 200; i++) {
                producer.send(new ProducerRecord<>(topic, 0, null, "x" + i), (metadata, error) -> {
                    threads.add(Thread.currentThread().getName());
                    offsets.add(metadata.offset());
                });
            }
            returned.add(String.valueOf(offsets.size() < 200));
        }
        boolean ordered = true;
        for (int i = 1; i < offsets.size(); i++) ordered &= offsets.get(i) > offsets.get(i - 1);
        return String.join(" ", threads) + "\t" + offsets.size() + "\t" + ordered + "\t" + returned.get(0);
    }

    static String slowCallback(String topic) throws Exception {
        List<String> found = new ArrayList<>();
        for (boolean apart : new boolean[] {false, true}) {
            ExecutorService other = Executors.newSingleThreadExecutor();
            long began = System.nanoTime();
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings("linger.ms=0"))) {
                producer.partitionsFor(topic);
                began = System.nanoTime();
                for (int i = 0; i < 12; i++) {
                    Runnable work = () -> pause(50);
                    producer.send(new ProducerRecord<>(topic, 0, null, "x"), (metadata, error) -> {
                        if (apart) other.execute(work); else work.run();
                    });
                }
            }
            found.add(String.valueOf(Math.round(12e9 / (System.nanoTime() - began))));
            other.shutdownNow();
            other.awaitTermination(1, TimeUnit.SECONDS);
        }
        return String.join("\t", found);
    }

    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** SO_RCVBUF and SO_SNDBUF of a connection, with the defaults and with -1. */
    static String sockets(String topic) throws Exception {
        List<String> found = new ArrayList<>();
        for (String size : new String[] {"default", "-1"}) {
            Properties given = size.equals("default") ? settings() : settings("receive.buffer.bytes=-1", "send.buffer.bytes=-1");
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(given)) {
                producer.send(new ProducerRecord<>(topic, "x")).get();
                Object selector = field(field(field(producer, "sender"), "client"), "selector");
                Map<String, ?> channels = (Map<String, ?>) field(selector, "channels");
                Object channel = channels.values().iterator().next();
                java.net.Socket socket = ((PlaintextTransportLayer) field(channel, "transportLayer")).socketChannel().socket();
                found.add(socket.getReceiveBufferSize() + " " + socket.getSendBufferSize());
            }
        }
        return String.join("\t", found);
    }

    static Object field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    static final String[] METRICS = {"record-send-rate", "request-rate", "outgoing-byte-rate",
        "batch-size-avg", "request-size-avg", "record-queue-time-avg", "request-latency-avg"};

    /** topic, settings, how many records, how far apart (0: flat out), how large: the producer's own metrics of them. */
    static String metrics(String topic, String given, int count, int everyMicros, int size) throws Exception {
        Map<String, String> found = new LinkedHashMap<>();
        String windows = "metrics.num.samples=4,metrics.sample.window.ms=100,";
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings((windows + given).split(",")))) {
            producer.partitionsFor(topic);
            long next = System.nanoTime();
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>(topic, "x".repeat(size)));
                next += 1_000L * everyMicros;
                while (System.nanoTime() < next) Thread.onSpinWait();
            }
            if (everyMicros == 0) producer.flush();
            for (String each : METRICS) found.put(each, String.valueOf(metric(producer, each)));
        }
        return String.join("\t", found.values());
    }

    static double metric(KafkaProducer<?, ?> producer, String wanted) {
        for (Map.Entry<MetricName, ? extends Metric> each : producer.metrics().entrySet()) {
            if (each.getKey().name().equals(wanted) && each.getKey().group().equals("producer-metrics")) {
                return (double) each.getValue().metricValue();
            }
        }
        return -1;
    }
}
