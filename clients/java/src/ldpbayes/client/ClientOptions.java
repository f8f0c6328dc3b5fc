package ldpbayes.client;

import java.io.File;
import java.math.BigDecimal;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import ldpbayes.RandomSource;
import ldpbayes.Reason;
import ldpbayes.client.journal.FileStore;
import ldpbayes.client.journal.JournalStore;
import ldpbayes.relay.Relay;

/**
 * The options of a client; each method sets one and returns this object.
 *
 * <p>{@code journal} and {@code person} must be set. A value that cannot be used throws OptionException at
 * once.
 */
public final class ClientOptions {
    String digest = "";
    String publicKey = "";
    String token;
    BigDecimal maxEpsilon = BigDecimal.valueOf(2);
    BigDecimal maxTotalEpsilon;
    String relay = "";
    BigDecimal maxLocalEpsilon = BigDecimal.valueOf(5);
    Consumer<? super Receipt> onOutcome = receipt -> { };
    boolean isStrict;
    boolean inBackground = true;
    RandomSource random = RandomSource.SYSTEM;
    Transport transport = new HttpTransport();
    BooleanSupplier optOut = () -> false;
    /** The time in seconds since 1970; tests set it. */
    LongSupplier clock = () -> System.currentTimeMillis() / 1000;
    private Double spread;
    private File folder;
    private JournalStore store;
    private String person;
    private boolean hasPerson;

    /** Makes the default options. */
    public ClientOptions() {
    }

    /**
     * Sets the folder of the journals, which record the consent and the answers of each person.
     *
     * <p>It must not be in a backup to other devices. In Android, use a folder in
     * {@code getNoBackupFilesDir()}.
     *
     * @param folder is created when a person first agrees
     * @return this object
     */
    public ClientOptions journal(File folder) {
        require(folder != null && store == null, "journal: give one folder, or one store");
        this.folder = folder;
        return this;
    }

    /**
     * Sets another place of one person's journal, in place of a folder and the option {@code person}.
     *
     * @param store holds the entries
     * @return this object
     */
    public ClientOptions journal(JournalStore store) {
        require(store != null && folder == null, "journal: give one folder, or one store");
        this.store = store;
        return this;
    }

    /**
     * Sets who answers; people who share a journal share consent and answers.
     *
     * @param person an id of 1 to 64 ASCII letters, digits, "-" and "_", which must stay the same and is
     *     never sent; null is everybody who uses this device
     * @return this object
     */
    public ClientOptions person(String person) {
        FileStore.requirePerson(person);
        this.person = person;
        hasPerson = true;
        return this;
    }

    /**
     * Accepts only the plan with this digest.
     *
     * @param digest the published digest, 64 hexadecimal digits
     * @return this object
     */
    public ClientOptions digest(String digest) {
        boolean isDigest = digest != null && digest.matches("[0-9A-Fa-f]{64}");
        if (!isDigest) throw new OptionException("digest must be 64 hexadecimal digits", Reason.BAD_DIGEST);
        this.digest = digest.toLowerCase(Locale.ROOT);
        return this;
    }

    /**
     * Accepts only a plan that its author signed with this key; not together with a plan's bytes.
     *
     * @param publicKey the line that {@code ldp-survey keygen} prints
     * @return this object
     */
    public ClientOptions publicKey(String publicKey) {
        String key = publicKey == null ? "" : publicKey.trim();
        require(PlanSource.readBase64(key, 32) != null,
            "publicKey must be the line that `ldp-survey keygen` prints");
        this.publicKey = key;
        return this;
    }

    /**
     * Sets the invitation, if the survey needs one; with a relay, its code, if it gives codes.
     *
     * @param token the invitation or the code, or null for none
     * @return this object
     */
    public ClientOptions token(String token) {
        this.token = token;
        return this;
    }

    /**
     * Sets the largest epsilon that a plan may have; with a relay, that it may promise.
     *
     * @param maxEpsilon the limit; by default 2
     * @return this object
     */
    public ClientOptions maxEpsilon(double maxEpsilon) {
        this.maxEpsilon = readLimit(maxEpsilon, "maxEpsilon");
        return this;
    }

    /**
     * Names the relay of a survey: reports are sealed, and sent through this relay only.
     *
     * <p>The client's URL is then the survey's address at the relay. Also set {@code digest} or {@code
     * publicKey}, or give the plan's bytes, because a server that can replace the plan could otherwise read
     * the reports. Needs X25519, which is in Java 11 and in Android 13.
     *
     * @param address for example {@code https://relay.example}
     * @return this object
     */
    public ClientOptions relay(String address) {
        String survey = SurveyIdentity.trim(String.valueOf(address)) + "/id";
        require(Relay.isUrl(survey), "relay: a relay looks like https://relay.example");
        relay = SurveyIdentity.ofUrl(survey, "").origin;
        return this;
    }

    /**
     * Sets the largest epsilon of all that a person sends through a relay; it holds even if relay and
     * collector work together.
     *
     * @param maxLocalEpsilon the limit; by default 5
     * @return this object
     */
    public ClientOptions maxLocalEpsilon(double maxLocalEpsilon) {
        this.maxLocalEpsilon = readLimit(maxLocalEpsilon, "maxLocalEpsilon");
        return this;
    }

    /**
     * Sets the epsilon that all surveys of the journal may spend in total.
     *
     * @param maxTotalEpsilon the limit; by default there is none
     * @return this object
     */
    public ClientOptions maxTotalEpsilon(double maxTotalEpsilon) {
        this.maxTotalEpsilon = readLimit(maxTotalEpsilon, "maxTotalEpsilon");
        return this;
    }

    /**
     * Sets a function that is called with the receipt of {@code report}, on the thread of that call, and with
     * the receipt of the outcome, on the thread that sends: the collector's answer, or an earlier withdrawal.
     *
     * @param onOutcome the function; if it throws, only the type of the exception is logged
     * @return this object
     */
    public ClientOptions onOutcome(Consumer<? super Receipt> onOutcome) {
        require(onOutcome != null, "onOutcome must not be null");
        this.onOutcome = onOutcome;
        return this;
    }

    /**
     * Sets the time within which a report is first sent, at a random moment.
     *
     * @param spread seconds; by default 2, and with a relay 3,600
     * @return this object
     */
    public ClientOptions spread(double spread) {
        require(spread >= 0 && spread < Double.POSITIVE_INFINITY, "spread must be seconds, 0 or more");
        this.spread = spread;
        return this;
    }

    /**
     * Sets whether a thread sends the reports; otherwise only {@code flush} sends, on the thread that calls
     * it.
     *
     * <p>In Android, an application that has a scheduler, such as WorkManager, can do without the thread.
     *
     * @param inBackground whether to start a thread; by default true
     * @return this object
     */
    public ClientOptions background(boolean inBackground) {
        this.inBackground = inBackground;
        return this;
    }

    /**
     * Sets whether calls throw exceptions in place of returning them as receipts.
     *
     * @param isStrict whether to throw; by default false
     * @return this object
     */
    public ClientOptions strict(boolean isStrict) {
        this.isStrict = isStrict;
        return this;
    }

    /**
     * Sets a function that says whether the person forbids all reports, for example in the application's
     * settings.
     *
     * <p>While one open client of a journal forbids reports, no report of the journal is sent. A report that
     * waits is sent after the function returns false again.
     *
     * @param optOut is asked before anything is drawn or sent, on any thread; if it throws, reports are
     *     forbidden
     * @return this object
     */
    public ClientOptions optOut(BooleanSupplier optOut) {
        require(optOut != null, "optOut must not be null");
        this.optOut = optOut;
        return this;
    }

    /**
     * Sets the source of random bytes, for tests; by default the system's generator.
     *
     * @param random the source
     * @return this object
     */
    public ClientOptions random(RandomSource random) {
        require(random != null, "random must not be null");
        this.random = random;
        return this;
    }

    /**
     * Sets what sends requests; by default {@link HttpTransport}.
     *
     * @param transport the application's own transport
     * @return this object
     */
    public ClientOptions transport(Transport transport) {
        require(transport != null, "transport must not be null");
        this.transport = transport;
        return this;
    }

    /** {@return the time within which a report is first sent} */
    double spread() { return spread != null ? spread : relay.isEmpty() ? 2 : 3600; }

    /** Returns the journal's store. */
    JournalStore makeStore() {
        require(folder != null || store != null, "journal: give a folder, or a store");
        require(store == null || person == null, "person: a store belongs to one person already");
        require(store == null || store.name() != null, "journal: the store has no name");
        if (store == null && !hasPerson) {
            throw new OptionException("person: give an id, or null for everybody", Reason.BAD_PERSON);
        }
        return store == null ? new FileStore(folder, person) : store;
    }

    private static BigDecimal readLimit(double limit, String name) {
        require(limit > 0 && limit < Double.POSITIVE_INFINITY, name + " must be a number above 0");
        return new BigDecimal(String.valueOf(limit));
    }

    private static void require(boolean condition, String why) {
        if (!condition) throw new OptionException(why, Reason.BAD_OPTION);
    }
}
