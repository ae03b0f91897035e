import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Kafka's own rules for a partition, a line in, a line out.
 *
 * In: replicas isr elr lastKnownElr leader leaderEpoch partitionEpoch recovery usable minIsr
 * elrEnabled targetIsr uncleanRestart election targetRecovery. Lists have commas, "-" is empty,
 * "~" is "not set". Out: the partition afterwards, or "none".
 */
public class KafkaElections {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
    }

    private static String answer(String[] word) {
        int[] replicas = ints(word[0]);
        Uuid[] directories = new Uuid[replicas.length];
        Arrays.fill(directories, DirectoryId.UNASSIGNED);
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(directories)
            .setIsr(ints(word[1]))
            .setElr(ints(word[2]))
            .setLastKnownElr(ints(word[3]))
            .setLeader(Integer.parseInt(word[4]))
            .setLeaderEpoch(Integer.parseInt(word[5]))
            .setPartitionEpoch(Integer.parseInt(word[6]))
            .setLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(word[7])))
            .build();
        List<Integer> usable = list(word[8]);
        PartitionChangeBuilder builder = new PartitionChangeBuilder(before, Uuid.METADATA_TOPIC_ID, 0,
            usable::contains, MetadataVersion.LATEST_PRODUCTION, Integer.parseInt(word[9]),
            word[10].equals("true"));
        builder.setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED);
        builder.setElection(PartitionChangeBuilder.Election.valueOf(word[13]));
        if (!word[11].equals("~")) builder.setTargetIsr(list(word[11]));
        if (!word[12].equals("~")) builder.setUncleanShutdownReplicas(list(word[12]));
        if (!word[14].equals("~")) {
            builder.setTargetLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(word[14])));
        }
        Optional<ApiMessageAndVersion> change = builder.build();
        if (change.isEmpty()) return "none";
        PartitionRegistration after = before.merge((PartitionChangeRecord) change.get().message());
        Arrays.sort(after.elr);
        return String.join(" ", text(after.isr), text(after.elr), text(after.lastKnownElr),
            "" + after.leader, "" + after.leaderEpoch, "" + after.partitionEpoch,
            "" + after.leaderRecoveryState.value());
    }

    private static int[] ints(String text) {
        return list(text).stream().mapToInt(Integer::intValue).toArray();
    }

    private static List<Integer> list(String text) {
        if (text.equals("-")) return List.of();
        return Arrays.stream(text.split(",")).map(Integer::valueOf).collect(Collectors.toList());
    }

    private static String text(int[] numbers) {
        if (numbers.length == 0) return "-";
        return Arrays.stream(numbers).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }
}
