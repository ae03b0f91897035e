import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.properties.MetaPropertiesEnsemble;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.PreCleanStats;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Kafka's own log, told what to do line by line; each line is answered with one line. */
public class StorageOracle {

    /** Does at once what Kafka puts off, and nothing that repeats. */
    static class AtOnce implements Scheduler {
        public void startup() { }
        public void shutdown() { }
        public void resizeThreadPool(int size) { }
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (periodMs < 0) task.run();
            return NEVER.schedule(() -> { }, 1, TimeUnit.DAYS);
        }
    }

    static final ScheduledThreadPoolExecutor NEVER = new ScheduledThreadPoolExecutor(0);
    /** Stands still, at first at the time of the test's records; `now` sets it. */
    static class StoppedClock implements Time {
        public long milliseconds() { return nowMs; }
        public long nanoseconds() { return Time.SYSTEM.nanoseconds(); }
        public void sleep(long ms) { Time.SYSTEM.sleep(ms); }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs)
                throws InterruptedException {
            Time.SYSTEM.waitObject(object, condition, deadlineMs);
        }
    }

    static short transactionVersion = 1;

    static final Time CLOCK = new StoppedClock();
    static long nowMs = 1_700_000_000_000L;
    static UnifiedLog log;
    static final ConcurrentMap<TopicPartition, UnifiedLog> LOGS = new ConcurrentHashMap<>();

    static String open(String[] words) throws Exception {
        Properties config = new Properties();
        for (int i = 5; i < words.length; i++) {
            String[] pair = words[i].split("=");
            config.put(pair[0], pair[1]);
        }
        File directory = new File(words[1]);
        directory.mkdirs();
        log = UnifiedLog.create(directory, new LogConfig(config), Long.parseLong(words[3]),
            Long.parseLong(words[4]), new AtOnce(), new BrokerTopicStats(), CLOCK,
            300_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600_000,
            new LogDirFailureChannel(1), Boolean.parseBoolean(words[2]), Optional.empty());
        return state();
    }

    static String state() {
        return "start=" + log.logStartOffset() + " end=" + log.logEndOffset()
            + " size=" + log.size()
            + " epochs=" + log.leaderEpochCache().epochEntries().stream()
                .map(e -> e.epoch() + ":" + e.startOffset()).collect(Collectors.joining(","))
            + " segments=" + log.logSegments().stream()
                .map(s -> String.valueOf(s.baseOffset())).collect(Collectors.joining(","))
            + " producers=" + new TreeMap<>(log.activeProducersWithLastSequence())
                .toString().replace(" ", "");
    }

    /** One pass of the cleaner, if the log is due: what was chosen, what was read and kept. */
    static String compact(int buffer, double loadFactor, int ioBuffer) throws Exception {
        log.updateHighWatermark(log.logEndOffset());
        LOGS.clear();
        LOGS.put(log.topicPartition(), log);
        var manager = new LogCleanerManager(
            List.of(log.dir().getParentFile()), LOGS, new LogDirFailureChannel(1));
        var found = manager.grabFilthiestCompactedLog(CLOCK, new PreCleanStats());
        if (found.isEmpty()) return "none";
        var chosen = found.get();
        var cleaner = new Cleaner(0, new SkimpyOffsetMap(buffer), ioBuffer, 1 << 20, loadFactor,
            new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM), CLOCK,
            partition -> { });
        long begin = System.nanoTime();
        var done = cleaner.doClean(chosen, nowMs);
        long took = System.nanoTime() - begin;
        manager.doneCleaning(log.topicPartition(), log.dir().getParentFile(), done.getKey());
        tookMs = took / 1_000_000;
        var stats = done.getValue();
        return "from=" + chosen.firstDirtyOffset() + " to=" + done.getKey()
            + " clean=" + chosen.cleanBytes() + " dirty=" + chosen.cleanableBytes()
            + " read=" + stats.messagesRead() + " kept=" + stats.messagesWritten();
    }

    static long tookMs;

    static String appended(LogAppendInfo info) {
        return info.firstOffset() + " " + info.lastOffset();
    }

    static MemoryRecords records(String base64) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(Base64.getDecoder().decode(base64)));
    }

    static String timestamp(long target) throws Exception {
        var found = log.fetchOffsetByTimestamp(target, Optional.empty()).timestampAndOffsetOpt();
        return found.map(f -> f.offset + " " + f.timestamp + " " + f.leaderEpoch.orElse(-1))
            .orElse("none");
    }

    /** What a reader with read_committed gets: its batches, and the aborted transactions. */
    static String committed(long offset, int bytes) throws Exception {
        FetchDataInfo found = log.read(offset, bytes, FetchIsolation.TXN_COMMITTED, true);
        StringBuilder batches = new StringBuilder();
        for (var batch : found.records.batches()) batches.append(batch.baseOffset()).append(" ");
        return batches + "aborted " + found.abortedTransactions.orElse(List.of()).stream()
            .map(each -> each.producerId() + "@" + each.firstOffset())
            .collect(Collectors.joining(","));
    }

    static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "open": return open(words);
            case "state": return state();
            case "append":
                return appended(log.appendAsLeader(records(words[3]), Integer.parseInt(words[1]),
                    AppendOrigin.valueOf(words[2]), RequestLocal.noCaching(),
                    VerificationGuard.SENTINEL, transactionVersion));
            case "follow":
                return appended(log.appendAsFollower(records(words[2]), Integer.parseInt(words[1])));
            case "truncate": log.truncateTo(Long.parseLong(words[1])); return state();
            case "restart":
                log.truncateFullyAndStartAt(Long.parseLong(words[1]), Optional.empty());
                return state();
            case "advance":
                log.updateHighWatermark(log.logEndOffset());
                log.maybeIncrementLogStartOffset(Long.parseLong(words[1]),
                    LogStartOffsetIncrementReason.ClientRecordDeletion);
                log.deleteOldSegments();
                return state();
            case "retain":
                log.updateHighWatermark(log.logEndOffset());
                return log.deleteOldSegments() + " " + state();
            case "lead":
                log.assignEpochStartOffset(Integer.parseInt(words[1]), log.logEndOffset());
                return state();
            case "roll": log.roll(); return state();
            case "now": nowMs = Long.parseLong(words[1]); return "now";
            case "took": return String.valueOf(tookMs);
            case "compact":
                return compact(Integer.parseInt(words[1]), Double.parseDouble(words[2]),
                    Integer.parseInt(words[3]));
            case "close": log.close(); return "closed";
            case "epoch":
                return log.endOffsetForEpoch(Integer.parseInt(words[1]))
                    .map(e -> e.epoch() + " " + e.offset()).orElse("-1 -1");
            case "timestamp": return timestamp(Long.parseLong(words[1]));
            case "transaction-version": transactionVersion = Short.parseShort(words[1]); return words[1];
            case "stable":
                log.updateHighWatermark(Long.parseLong(words[1]));
                return String.valueOf(log.lastStableOffset());
            case "committed": return committed(Long.parseLong(words[1]), Integer.parseInt(words[2]));
            case "offsets":
                return new TreeMap<>(new OffsetCheckpointFile(new File(words[1]), null).read()
                    .entrySet().stream().collect(Collectors.toMap(
                        e -> e.getKey().toString(), e -> e.getValue()))).toString();
            case "topic-id":
                return new PartitionMetadataFile(new File(words[1]), new LogDirFailureChannel(1))
                    .read().topicId().toString();
            case "clean": {
                CleanShutdownFileHandler handler = new CleanShutdownFileHandler(words[1]);
                return handler.exists() + " " + handler.read().orElse(-1);
            }
            case "meta": {
                var all = new MetaPropertiesEnsemble.Loader().addLogDirs(List.of(words[1])).load();
                var one = all.logDirProps().get(words[1]);
                return one.clusterId().get() + " " + one.nodeId().getAsInt() + " "
                    + one.directoryId().map(Uuid::toString).get();
            }
            default: return "? " + words[0];
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                System.out.println(answer(line.split(" ")));
            } catch (Throwable error) {
                Throwable cause = error;
                Errors code = Errors.forException(cause);
                while (code == Errors.UNKNOWN_SERVER_ERROR && cause.getCause() != null) {
                    cause = cause.getCause();
                    code = Errors.forException(cause);
                }
                System.out.println("error " + code + " " + String.valueOf(error).replace("\n", " "));
            }
            System.out.flush();
        }
        NEVER.shutdownNow();
    }
}
