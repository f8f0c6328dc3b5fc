package ldpbayes.client.journal;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import ldpbayes.Bytes;
import ldpbayes.Reason;
import ldpbayes.client.JournalException;
import ldpbayes.client.OptionException;

/**
 * A journal in one file, which is replaced as a whole by each transaction.
 *
 * <p>A transaction holds a lock file, so threads and processes may share the journal. It writes a new file,
 * forces it to the disk and renames it: after a crash, the former or the new content is there. If the file is
 * damaged, it is renamed, and nothing is reported while the renamed file exists, because it is unknown which
 * surveys were answered.
 */
public final class FileStore implements JournalStore {
    private static final long LOCK_SECONDS = 10;
    private static final byte[] HEADER = "ldp-bayes journal 1\n".getBytes(StandardCharsets.US_ASCII);
    private static final int HASH_BYTES = 32;
    /** The locks of this process, by journal: a file lock excludes other processes only. */
    private static final Map<String, ReentrantLock> LOCKS = new ConcurrentHashMap<>();

    private final File folder;
    private final String file;
    /** The path without links, which is resolved on first use. */
    private volatile String name;

    /**
     * Makes the store of a person's journal; nothing is read or written yet.
     *
     * @param folder the folder of all journals; it is created by the first transaction
     * @param person the person's id, or null for everybody who uses this device
     * @throws OptionException if the id has another form than in the options
     */
    public FileStore(File folder, String person) {
        requirePerson(person);
        String file = "journal";
        if (person != null) {
            // "Ann" and "ann" are two people, but one name on a file system that ignores case
            StringBuilder escaped = new StringBuilder("person-");
            for (char each : person.toCharArray()) {
                escaped.append(each >= 'A' && each <= 'Z' ? "+" : "").append(each);
            }
            file = escaped.toString().toLowerCase(Locale.ROOT);
        }
        this.folder = folder;
        this.file = file;
    }

    /**
     * Checks a person's id.
     *
     * @param person the id, or null for everybody who uses this device
     * @throws OptionException unless it is 1 to 64 ASCII letters, digits, "-" and "_"
     */
    public static void requirePerson(String person) {
        if (person == null || person.matches("[A-Za-z0-9_-]{1,64}")) return;
        throw new OptionException("person must match [A-Za-z0-9_-]{1,64}, or be null", Reason.BAD_PERSON);
    }

    @Override
    public String name() {
        if (name == null) name = new File(canonical(folder), file).getPath();
        return name;
    }

    @Override
    public Map<String, byte[]> read() throws IOException {
        boolean isInterrupted = Thread.interrupted(); // Android could not read the file
        try {
            byte[] content = readFile();
            requireUndamaged(); // after reading: another transaction may just have renamed a damaged file
            Map<String, byte[]> entries = parse(content);
            if (entries != null) return entries;
            Map<String, byte[]> locked = new LinkedHashMap<>();
            update(locked::putAll); // a damaged file is renamed
            return locked;
        } catch (IOException error) {
            throw unusable(error);
        } finally {
            if (isInterrupted) Thread.currentThread().interrupt();
        }
    }

    @Override
    public void update(Consumer<Map<String, byte[]>> change) throws IOException {
        boolean isInterrupted = Thread.interrupted(); // an interrupt would close the channels
        ReentrantLock lock = LOCKS.computeIfAbsent(name(), key -> new ReentrantLock());
        try {
            if (lock.isHeldByCurrentThread() || !lock.tryLock(LOCK_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException("it is locked");
            }
            try {
                Files.createDirectories(folder(), ownerOnly("rwx------"));
                try (FileChannel channel = open(".lock", StandardOpenOption.CREATE)) {
                    awaitLock(channel);
                    updateLocked(change);
                }
            } finally {
                lock.unlock();
            }
        } catch (InterruptedException error) {
            isInterrupted = true;
            throw unusable(new IOException("the thread was interrupted"));
        } catch (IOException error) {
            throw unusable(error);
        } finally {
            if (isInterrupted) Thread.currentThread().interrupt();
        }
    }

    private void updateLocked(Consumer<Map<String, byte[]>> change) throws IOException {
        byte[] before = readFile();
        Map<String, byte[]> entries = parseUndamaged(before);
        change.accept(entries);
        if (before == null && entries.isEmpty()) return;
        byte[] after = format(entries);
        if (!Arrays.equals(before, after)) replace(before, after);
    }

    /**
     * Deletes a damaged file that was renamed. A survey may then be answered, and its epsilon spent, a second
     * time.
     *
     * @return whether there was one
     * @throws IOException if it cannot be deleted
     */
    public boolean forgetDamaged() throws IOException {
        return Files.deleteIfExists(path(".damaged"));
    }

    private FileChannel open(String suffix, StandardOpenOption create) throws IOException {
        Set<StandardOpenOption> options = EnumSet.of(create, StandardOpenOption.WRITE);
        return FileChannel.open(path(suffix), options, ownerOnly("rw-------"));
    }

    private static void awaitLock(FileChannel channel) throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (System.nanoTime() - start < TimeUnit.SECONDS.toNanos(LOCK_SECONDS)) {
            try {
                if (channel.tryLock() != null) return;
            } catch (OverlappingFileLockException error) {
                // another class loader of this process has it
            }
            Thread.sleep(3);
        }
        throw new IOException("it is locked");
    }

    /** Returns the content of the file, or null if there is none. */
    private byte[] readFile() throws IOException {
        try {
            return Files.readAllBytes(path(""));
        } catch (NoSuchFileException error) {
            return null;
        }
    }

    /**
     * Replaces the file: on return, the new content is on the disk. A file that a program without the lock
     * has put there meanwhile stays: it may be a damaged one.
     */
    private void replace(byte[] before, byte[] content) throws IOException {
        Path draft = path(".new");
        Files.deleteIfExists(draft);
        try (FileChannel channel = open(".new", StandardOpenOption.CREATE_NEW)) {
            ByteBuffer buffer = ByteBuffer.wrap(content);
            while (buffer.hasRemaining()) channel.write(buffer);
            channel.force(true);
            if (!Arrays.equals(before, readFile())) throw new IOException("another program changed it");
        } catch (IOException error) {
            Files.deleteIfExists(draft);
            throw error;
        }
        Files.move(draft, path(""), StandardCopyOption.ATOMIC_MOVE);
        forceFolder();
    }

    /** Forces a new name to the disk; a failure is no error, because the name is in use already. */
    private void forceFolder() {
        try (FileChannel folder = FileChannel.open(folder(), StandardOpenOption.READ)) {
            folder.force(true);
        } catch (IOException error) {
            // Windows opens no folders, and some network file systems cannot force them
        }
    }

    /** Parses the file; renames a damaged one, and throws JournalException. */
    private Map<String, byte[]> parseUndamaged(byte[] content) throws IOException {
        requireUndamaged();
        Map<String, byte[]> entries = parse(content);
        if (entries != null) return entries;
        Files.move(path(""), path(".damaged"));
        forceFolder();
        throw damaged();
    }

    private void requireUndamaged() {
        if (Files.exists(path(".damaged"))) throw damaged();
    }

    private static JournalException damaged() {
        return new JournalException("the journal was damaged and renamed, so it is unknown which surveys "
            + "were answered, and nothing is reported: FileStore.forgetDamaged() begins a new journal",
            Reason.JOURNAL_DAMAGED);
    }

    /**
     * Returns the entries in a file's content, null if it is damaged; throws JournalException for another
     * version.
     */
    private static Map<String, byte[]> parse(byte[] content) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        if (content == null) return entries;
        if (content.length < HEADER.length + HASH_BYTES) return null;
        String start = new String(content, 0, HEADER.length, StandardCharsets.ISO_8859_1);
        if (!start.equals(new String(HEADER, StandardCharsets.US_ASCII))) {
            if (!start.matches("ldp-bayes journal [0-9]+\\s?")) return null;
            throw new JournalException(
                "another version wrote the journal: use that version, or another folder",
                Reason.JOURNAL_UNAVAILABLE);
        }
        int first = HEADER.length + HASH_BYTES;
        byte[] body = Arrays.copyOfRange(content, first, content.length);
        byte[] hash = Arrays.copyOfRange(content, HEADER.length, first);
        if (!Arrays.equals(Bytes.sha256(body), hash)) return null;
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(body));
        while (in.available() > 0) {
            String key = in.readUTF();
            byte[] value = new byte[in.readInt()];
            in.readFully(value);
            entries.put(key, value);
        }
        return entries;
    }

    private static byte[] format(Map<String, byte[]> entries) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(body);
        for (Map.Entry<String, byte[]> each : entries.entrySet()) {
            out.writeUTF(each.getKey());
            out.writeInt(each.getValue().length);
            out.write(each.getValue());
        }
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        content.write(HEADER);
        content.write(Bytes.sha256(body.toByteArray()));
        body.writeTo(content);
        return content.toByteArray();
    }

    private Path path(String suffix) {
        return new File(name() + suffix).toPath();
    }

    private Path folder() {
        return path("").getParent();
    }

    private static FileAttribute<?>[] ownerOnly(String permissions) {
        boolean isPosix = File.separatorChar == '/';
        return isPosix ? new FileAttribute<?>[] {
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
        } : new FileAttribute<?>[0];
    }

    private static File canonical(File folder) {
        try {
            return folder.getCanonicalFile();
        } catch (IOException error) {
            return folder.getAbsoluteFile(); // each transaction gives the cause
        }
    }

    /** Describes an error of the system, without the path, which contains the person's id. */
    private static JournalException unusable(IOException error) {
        String cause = error instanceof FileSystemException
            ? ((FileSystemException) error).getReason() : error.getMessage();
        String text = error.getClass().getSimpleName() + (cause == null ? "" : ": " + cause);
        return new JournalException("the journal cannot be used (" + text + ")",
            Reason.JOURNAL_UNAVAILABLE);
    }
}
