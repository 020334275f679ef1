import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import software.amazon.event.ruler.Machine;

/**
 * Asks Amazon's event-ruler. Each line of stdin is one request, and each is answered by one line on
 * stdout; the process ends with its stdin.
 *
 * <pre>
 *   add SET PATTERN    adds a pattern to a set: answers ok
 *   match SET EVENT    answers true where one of the set's patterns matches, else false
 *   drop SET           forgets a set: answers ok
 * </pre>
 *
 * What event-ruler refuses is answered by "error" and why.
 */
public final class EventRuler {
    public static void main(String[] args) throws Exception {
        Map<String, Machine> sets = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(sets, line.split(" ", 3)));
            if (!in.ready()) {
                out.flush();
            }
        }
        out.flush();
    }

    private static String answer(Map<String, Machine> sets, String[] request) {
        try {
            switch (request[0]) {
                case "add":
                    Machine machine = sets.computeIfAbsent(request[1], set -> new Machine());
                    machine.addRule("pattern", request[2]);
                    return "ok";
                case "match":
                    Machine set = sets.get(request[1]);
                    return Boolean.toString(set != null && !set.rulesForJSONEvent(request[2]).isEmpty());
                case "drop":
                    sets.remove(request[1]);
                    return "ok";
                default:
                    return "error no such request";
            }
        } catch (Exception e) {
            return "error " + String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
        }
    }
}
