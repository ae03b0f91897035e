import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.lang.reflect.Method;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.StringJoiner;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * Kafka's own classes behind a line protocol on standard input and output.
 *
 *   message NAME VERSION HEX   the message read and written again: HEX, a space, and JSON
 *   batches HEX                CRCs checked; each record as offset,timestamp,key,value,headers
 *   encode CODEC HEX...        a batch with these values at times 1000, 1001, ...: HEX
 *
 * An exception is answered with its text behind an exclamation mark.
 */
public class KafkaClasses {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.",
    };
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, "UTF-8");
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ", -1);
            try {
                switch (words[0]) {
                    case "message" -> out.println(message(words[1], Short.parseShort(words[2]), words[3]));
                    case "batches" -> out.println(batches(words[1]));
                    default -> out.println(encode(words));
                }
            } catch (Throwable error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                out.println("!" + cause.toString().replace('\n', ' '));
            }
            out.flush();
        }
    }

    private static Class<?> find(String name, String suffix) {
        for (String place : PACKAGES)
            for (String data : new String[] {"Data", ""})
                try {
                    return Class.forName(place + name + data + suffix);
                } catch (ClassNotFoundException next) {
                }
        throw new IllegalArgumentException("no class for " + name);
    }

    private static String message(String name, short version, String hex) throws Exception {
        Message message = (Message) find(name, "").getDeclaredConstructor().newInstance();
        ByteBuffer input = ByteBuffer.wrap(HEX.parseHex(hex));
        message.read(new ByteBufferAccessor(input), version);
        if (input.hasRemaining())
            throw new IllegalArgumentException(input.remaining() + " bytes left over");
        Method json = null;
        for (Method each : find(name, "JsonConverter").getMethods())
            if (each.getName().equals("write") && each.getParameterCount() == 3)
                json = each;
        Object node = json.invoke(null, message, version, true);
        var cache = new ObjectSerializationCache();
        ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(output), cache, version);
        return HEX.formatHex(output.array()) + " " + node;
    }

    private static String hex(ByteBuffer value) {
        if (value == null)
            return "null";
        byte[] bytes = new byte[value.remaining()];
        value.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }

    private static String batches(String hex) {
        var out = new StringJoiner(";");
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(hex))).batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                record.ensureValid();
                var one = new StringJoiner(",");
                one.add("" + record.offset()).add("" + record.timestamp());
                one.add(hex(record.key())).add(hex(record.value()));
                for (Header header : record.headers())
                    one.add(header.key()).add(header.value() == null ? "null" : HEX.formatHex(header.value()));
                out.add(one.toString());
            }
        }
        return out.toString();
    }

    private static String encode(String[] words) {
        List<SimpleRecord> records = new ArrayList<>();
        for (int i = 2; i < words.length; i++) {
            Header[] headers = i % 2 == 0 ? new Header[0] : new Header[] {new RecordHeader("n", null)};
            records.add(new SimpleRecord(998 + i, null, HEX.parseHex(words[i]), headers));
        }
        Compression codec = Compression.of(CompressionType.forName(words[1])).build();
        return hex(MemoryRecords.withRecords(codec, records.toArray(new SimpleRecord[0])).buffer());
    }
}
