package ldpbayes.client.journal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import ldpbayes.Reason;
import ldpbayes.client.Client;
import ldpbayes.client.ClientOptions;
import ldpbayes.client.Clients;
import ldpbayes.client.JournalException;
import ldpbayes.client.OptionException;
import ldpbayes.client.Receipt;
import ldpbayes.client.State;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The journal's file: damaged, deleted, in a folder that cannot be written, of another version, shared by
 * threads.
 */
class FileStoreTest {
    @TempDir
    File folder;
    private final Clients clients = new Clients();

    @AfterEach
    void close() {
        clients.close();
    }

    private Client client(File journals) {
        return client(journals, null);
    }

    private Client client(File journals, String person) {
        ClientOptions options =
            new ClientOptions().journal(journals).person(person).maxEpsilon(100).spread(3600)
            .transport(clients.recorder);
        return clients.keep(new Client(Clients.URL, options));
    }

    private Client reported(File journals) {
        Client client = client(journals);
        assertEquals("ready", client.grant().toString());
        assertEquals(State.QUEUED, report(client).state());
        return client;
    }

    private static Receipt report(Client client) {
        return client.report(Clients.ROW, Clients.LABEL);
    }

    private static String words(Receipt receipt) {
        return receipt.state() + " " + receipt.reason();
    }

    private Path file() {
        return new File(folder, "journal").toPath();
    }

    private static void put(JournalStore store, String key, byte[] value) throws IOException {
        store.update(entries -> entries.put(key, value));
    }

    @Test
    void entriesAreStoredReplacedAndRemoved() throws IOException {
        FileStore store = new FileStore(new File(folder, "deep/er"), "ann");
        assertTrue(store.read().isEmpty());
        assertEquals(0, folder.list().length, "reading makes no file");
        put(store, "one", new byte[] {1, 2});
        put(store, "two ü", new byte[0]);
        put(store, "one", new byte[] {3});
        Map<String, byte[]> entries = new FileStore(new File(folder, "deep/er"), "ann").read();
        assertEquals(new HashSet<>(Arrays.asList("one", "two ü")), entries.keySet());
        assertArrayEquals(new byte[] {3}, entries.get("one"));
        store.update(all -> all.remove("one"));
        assertEquals(1, store.read().size());
    }

    @Test
    void anIdThatLeavesTheFolderIsRefused() {
        for (String person : new String[] {"../ann", "", "a b"}) {
            assertThrows(OptionException.class, () -> new FileStore(folder, person));
        }
    }

    @Test
    void theFolderIsResolvedOnFirstUse() throws IOException {
        assumeTrue(File.separatorChar == '/');
        File link = new File(folder, "link");
        FileStore store = new FileStore(link, null);
        Files.createSymbolicLink(link.toPath(), Files.createDirectory(new File(folder, "real").toPath()));
        assertEquals(new FileStore(new File(folder, "real"), null).name(), store.name());
    }

    @Test
    void anInterruptedThreadReadsAndStaysInterrupted() throws IOException {
        FileStore store = new FileStore(folder, null);
        put(store, "one", new byte[1]);
        Thread.currentThread().interrupt();
        assertEquals(1, store.read().size());
        assertTrue(Thread.interrupted());
    }

    @Test
    void aChangeThatThrowsChangesNothing() throws IOException {
        FileStore store = new FileStore(folder, null);
        put(store, "one", new byte[1]);
        assertThrows(IllegalStateException.class, () -> store.update(entries -> {
            entries.clear();
            throw new IllegalStateException();
        }));
        assertEquals(1, store.read().size());
        put(store, "two", new byte[1]); // the lock was released
    }

    @Test
    void anUnchangedJournalIsNotWritten() throws IOException {
        FileStore store = new FileStore(folder, null);
        put(store, "one", new byte[1]);
        Object before = Files.readAttributes(file(), "unix:ino,lastModifiedTime");
        store.update(entries -> { });
        assertEquals(before, Files.readAttributes(file(), "unix:ino,lastModifiedTime"));
    }

    @Test
    void aTransactionWithoutChangesMakesNoFile() throws IOException {
        new FileStore(folder, null).update(entries -> { });
        assertFalse(Files.exists(file()));
    }

    @Test
    void aFileThatAnotherProgramPutsThereDuringATransactionIsNotReplaced() throws IOException {
        FileStore store = new FileStore(folder, null);
        byte[] garbage = Clients.bytes("garbage");
        for (boolean isChanged : new boolean[] {false, true}) {
            Consumer<Map<String, byte[]>> change = entries -> {
                assertDoesNotThrow(() -> Files.write(file(), garbage));
                if (isChanged) entries.put("one", new byte[1]);
            };
            if (isChanged) assertThrows(JournalException.class, () -> store.update(change));
            else store.update(change);
            assertArrayEquals(garbage, Files.readAllBytes(file()));
            assertFalse(Files.exists(new File(folder, "journal.new").toPath()));
            JournalException error = assertThrows(JournalException.class, store::read);
            assertEquals(Reason.JOURNAL_DAMAGED, error.reason());
            assertTrue(store.forgetDamaged());
        }
    }

    @Test
    void filesBelongToTheirOwnerOnly() throws IOException {
        assumeTrue(File.separatorChar == '/');
        File journals = new File(folder, "journals");
        reported(journals).close(60);
        assertEquals("rwx------",
            PosixFilePermissions.toString(Files.getPosixFilePermissions(journals.toPath())));
        for (File each : journals.listFiles()) {
            assertEquals("rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(each.toPath())));
        }
    }

    @Test
    void eachPersonAgreesAndAnswersForThemselves() {
        reported(folder);
        String[] people = {"ann", "Ann", "ANN", "con", "_", "-", "0", "journal"};
        for (String person : people) {
            Client client = client(folder, person);
            assertEquals(State.NO_CONSENT, client.status().state());
            client.grant();
            assertEquals(State.QUEUED, report(client).state());
            assertEquals(State.ALREADY_REPORTED, report(client(folder, person)).state());
        }
        Set<String> names = new HashSet<>();
        for (String each : folder.list()) {
            if (!each.endsWith(".lock")) names.add(each.toLowerCase(java.util.Locale.ROOT));
        }
        assertEquals(people.length + 1, names.size(), "on a file system that ignores case");
    }

    @Test
    void twoNamesOfOneFolderAreOneJournal() throws IOException {
        File real = new File(folder, "real");
        assertTrue(real.mkdir());
        File link = Files.createSymbolicLink(new File(folder, "link").toPath(), real.toPath()).toFile();
        assertEquals(new FileStore(real, null).name(), new FileStore(link, null).name());
        assertEquals(new FileStore(real, null).name(),
            new FileStore(new File(link, "../real/."), null).name());
        assertNotEquals(new FileStore(real, null).name(), new FileStore(real, "ann").name());
    }

    @Test
    void aDamagedJournalIsRenamedAndNothingIsReported() throws IOException {
        reported(folder).close(60);
        byte[] whole = Files.readAllBytes(file());
        Random random = new Random();
        List<byte[]> damages =
            new ArrayList<>(Arrays.asList(new byte[0], new byte[4096], Clients.bytes("garbage"),
            Arrays.copyOf(whole, whole.length / 2), Arrays.copyOf(whole, whole.length - 1),
            Arrays.copyOf(whole, whole.length + 1), Arrays.copyOf(whole, 20), Arrays.copyOf(whole, 19)));
        for (int number = 0; number < 20; number++) {
            byte[] flipped = whole.clone();
            flipped[20 + random.nextInt(whole.length - 20)] ^= (byte) (1 << random.nextInt(8));
            damages.add(flipped);
        }
        int sent = clients.recorder.bodies().size();
        for (byte[] damaged : damages) {
            Files.write(file(), damaged);
            Client client = client(folder);
            for (Receipt each :
                new Receipt[] {client.status(), client.grant(), report(client), client.flush(0),
                client.withdraw()}) {
                assertEquals("unavailable journal-damaged", words(each));
                assertTrue(each.why().contains("forgetDamaged"));
            }
            assertFalse(Files.exists(file()));
            assertArrayEquals(damaged, Files.readAllBytes(new File(folder, "journal.damaged").toPath()));
            assertTrue(new FileStore(folder, null).forgetDamaged());
            assertFalse(new FileStore(folder, null).forgetDamaged());
            assertEquals(State.NO_CONSENT, client.status().state());
        }
        assertEquals(sent, clients.recorder.bodies().size());
        reported(folder);
    }

    @Test
    void whileADamagedJournalIsRenamedNobodyReadsAnEmptyOne() throws Exception {
        FileStore store = new FileStore(folder, null);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        for (int round = 0; round < 300; round++) {
            Files.write(file(), Clients.bytes("garbage"));
            List<Callable<Map<String, byte[]>>> reads = Collections.nCopies(4, store::read);
            for (Future<Map<String, byte[]>> each : threads.invokeAll(reads)) {
                Throwable cause = assertThrows(ExecutionException.class, each::get).getCause();
                assertEquals(Reason.JOURNAL_DAMAGED, ((JournalException) cause).reason());
            }
            assertTrue(store.forgetDamaged());
        }
        threads.shutdown();
    }

    @Test
    void aJournalOfANewerVersionIsRefusedAndNotOverwritten() throws IOException {
        reported(folder).close(60);
        for (String header : new String[] {"ldp-bayes journal 2\n", "ldp-bayes journal 10\n"}) {
            byte[] newer = Files.readAllBytes(file());
            byte[] start = header.getBytes(StandardCharsets.US_ASCII);
            System.arraycopy(start, 0, newer, 0, start.length);
            Files.write(file(), newer);
            Client client = client(folder);
            for (Receipt each :
                new Receipt[] {client.status(), client.grant(), report(client), client.withdraw()}) {
                assertEquals("unavailable journal-unavailable", words(each));
                assertTrue(each.why().contains("version"), each.why());
            }
            assertArrayEquals(newer, Files.readAllBytes(file()));
            client.close();
        }
    }

    @Test
    void anEntryOfANewerVersionIsRefusedAndNotOverwritten() throws IOException {
        reported(folder).close(60);
        FileStore store = new FileStore(folder, null);
        store.update(entries -> entries.values().forEach(value -> value[0] = 2));
        byte[] newer = Files.readAllBytes(file());
        Client client = client(folder);
        for (Receipt each :
            new Receipt[] {client.status(), client.grant(), report(client), client.withdraw()}) {
            assertEquals("unavailable journal-unavailable", words(each));
        }
        assertArrayEquals(newer, Files.readAllBytes(file()));
    }

    @Test
    void aDeletedJournalIsThatOfANewPersonAndNothingIsDrawn() throws IOException {
        Client client = client(folder);
        client.grant();
        Files.delete(file());
        assertEquals("no_consent no-consent", words(report(client)));
        client.grant();
        report(client);
        Files.delete(file());
        assertEquals("no_consent no-consent", words(client.flush(0.2)));
        assertEquals(0, clients.recorder.bodies().size(), "a report that the journal lacks is not sent");
    }

    @Test
    void aFolderThatCannotBeWrittenIsAReceipt() throws IOException {
        Files.write(new File(folder, "a file").toPath(), new byte[0]);
        for (File each : new File[] {new File(folder, "a file"), new File(folder, "a file/deep"),
            new File("/proc/journals"), new File("nul\0byte")}) {
            Client client = client(each);
            assertEquals("unavailable journal-unavailable", words(client.grant()), each.getName());
            State state = report(client).state();
            assertTrue(state == State.UNAVAILABLE || state == State.NO_CONSENT, state.toString());
        }
        assertEquals(0, clients.recorder.bodies().size());
    }

    @Test
    void aJournalThatCannotBeReplacedSpendsNothing() throws IOException {
        Client client = client(folder);
        client.grant();
        File draft = new File(folder, "journal.new");
        assertTrue(new File(draft, "inside").mkdirs()); // it cannot be deleted, and so not be written
        Receipt receipt = report(client);
        assertEquals("unavailable journal-unavailable", words(receipt));
        assertFalse(receipt.why().contains(folder.getPath()));
        assertEquals(State.READY, client.status().state());
        assertTrue(new File(draft, "inside").delete() && draft.delete());
        assertEquals(State.QUEUED, report(client).state());
    }

    @Test
    void aDraftThatAKilledProcessLeftIsReplaced() throws IOException {
        Client client = client(folder);
        client.grant();
        Files.write(new File(folder, "journal.new").toPath(), new byte[100_000]);
        assertEquals(State.QUEUED, report(client).state());
        assertFalse(new File(folder, "journal.new").exists());
    }

    @Test
    void anInterruptDoesNotDisturbTheJournal() {
        Client client = client(folder);
        Thread.currentThread().interrupt();
        assertEquals("ready", client.grant().toString());
        assertEquals(State.QUEUED, report(client).state());
        assertTrue(Thread.interrupted());
    }

    @Test
    void aTransactionWithinATransactionOfTheSameThreadIsRefused() throws IOException {
        FileStore store = new FileStore(folder, null);
        List<Exception> errors = new ArrayList<>();
        store.update(entries -> {
            entries.put("one", new byte[1]);
            errors.add(
                assertThrows(JournalException.class, () -> new FileStore(folder, null).update(all -> { })));
        });
        assertEquals(1, store.read().size());
        assertEquals(1, errors.size());
    }

    @Test
    void threadsShareAJournalWithoutALostEntry() throws Exception {
        List<Thread> threads = new ArrayList<>();
        List<Throwable> errors = new ArrayList<>();
        for (int number = 0; number < 8; number++) {
            int own = number;
            threads.add(new Thread(() -> {
                try {
                    FileStore store = new FileStore(folder, null);
                    for (int each = 0; each < 25; each++) {
                        put(store, own + " " + each, new byte[100]);
                        assertTrue(store.read().size() > each);
                    }
                } catch (Throwable error) {
                    errors.add(error);
                }
            }));
        }
        for (Thread each : threads) each.start();
        for (Thread each : threads) each.join();
        assertEquals(new ArrayList<>(), errors);
        assertEquals(200, new FileStore(folder, null).read().size());
    }

    @Test
    void aJournalContainsNoValueOfTheRow() throws IOException {
        Map<String, Object> row = new java.util.LinkedHashMap<>(Clients.ROW);
        row.put("grid", 1_000_017.0625);
        Client client = client(folder);
        client.grant();
        assertEquals(State.QUEUED, client.report(row, Clients.LABEL).state());
        String content = new String(Files.readAllBytes(file()), StandardCharsets.ISO_8859_1);
        assertTrue(content.contains(Clients.SURVEY));
        assertFalse(content.contains("1000017"));
    }
}
