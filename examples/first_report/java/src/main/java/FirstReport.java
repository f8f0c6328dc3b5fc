import java.io.File;
import java.util.HashMap;
import java.util.Map;
import ldpbayes.client.Client;
import ldpbayes.client.ClientOptions;

/** Sends a first report with the Java client; its arguments are the survey's URL and a folder for the journal. */
public class FirstReport {
    public static void main(String[] arguments) {
        Client client = new Client(arguments[0], new ClientOptions().journal(new File(arguments[1])).person(null));
        Map<String, Object> row = new HashMap<>();
        row.put("age", "young");
        row.put("income", 21_000);
        row.put("debt", 0);
        row.put("cards", 2);
        client.grant(); // only after the person has agreed
        System.out.println(client.report(row, "no"));
        System.out.println(client.flush(10));
    }
}
