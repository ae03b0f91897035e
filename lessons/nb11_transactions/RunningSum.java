import java.util.Properties;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * A Kafka Streams topology: each number of `NAME-in` becomes the sum of its key so far in
 * `NAME-out`.  The sums are in a store in memory, which a changelog topic restores after a crash.
 * Arguments: bootstrap servers, name, state directory.
 */
public class RunningSum {
    public static void main(String[] arguments) throws Exception {
        String name = arguments[1];
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[2]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 3);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put("session.timeout.ms", 6000);
        settings.put("heartbeat.interval.ms", 1000);

        Serde<String> text = Serdes.String();
        Serde<Long> number = Serdes.Long();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(name + "-in", Consumed.with(text, text))
            .mapValues(value -> Long.parseLong(value))
            .groupByKey(Grouped.with(text, number))
            .reduce(
                Long::sum,
                Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("sums"))
                    .withKeySerde(text)
                    .withValueSerde(number)
                    .withCachingDisabled())
            .toStream()
            .mapValues(sum -> sum.toString())
            .to(name + "-out", Produced.with(text, text));

        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        Thread.sleep(Long.MAX_VALUE);
    }
}
