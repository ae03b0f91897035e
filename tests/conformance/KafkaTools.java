import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs the main methods of Kafka's tools, one after the other, in this one JVM.
 *
 * A line of input is a call: the class, what its standard input is (base64), its arguments,
 * separated by tabs.  The answer is a line: exit code and what the tool printed (base64).
 */
public class KafkaTools {
    static class Exited extends RuntimeException {}

    static Integer exitCode;

    /** What a tool leaves for the end of its JVM, such as closing its producer. */
    static final List<Runnable> atExit = new ArrayList<>();

    public static void main(String[] ignored) throws Exception {
        PrintStream answers = System.out;
        Exit.setExitProcedure((code, message) -> exit(code));
        Exit.setHaltProcedure((code, message) -> exit(code));
        Exit.setShutdownHookAdder((name, hook) -> atExit.add(hook));
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] call = line.split("\t", -1);
            System.setIn(new ByteArrayInputStream(Base64.getDecoder().decode(call[1])));
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(System.out);
            int code = run(call[0], Arrays.copyOfRange(call, 2, call.length));
            atExit.forEach(Runnable::run);
            atExit.clear();
            System.out.flush();
            answers.println(code + "\t" + Base64.getEncoder().encodeToString(printed.toByteArray()));
            answers.flush();
        }
    }

    /** Ends the tool; the first code counts, for some catch what is thrown and exit again. */
    static void exit(int code) {
        exitCode = exitCode == null ? code : exitCode;
        throw new Exited();
    }

    static int run(String tool, String[] arguments) throws Exception {
        exitCode = null;
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (java.lang.reflect.InvocationTargetException thrown) {
            if (exitCode == null) {
                thrown.getCause().printStackTrace();
                return 1;
            }
        }
        return exitCode == null ? 0 : exitCode;
    }
}
