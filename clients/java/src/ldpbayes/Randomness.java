package ldpbayes;

import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;

/** The system's generator of random bytes, and the check of what a source returns. */
public final class Randomness implements RandomSource {
    Randomness() {
    }

    @Override
    public byte[] take(int count) {
        try {
            return read(count);
        } catch (RuntimeException error) {
            throw new LdpException("the system's random generator does not work", Reason.NO_RANDOMNESS);
        }
    }

    private static byte[] read(int count) {
        try {
            // its seeds, unlike its other bytes, are read from /dev/urandom without a buffer
            return SecureRandom.getInstance("NativePRNGNonBlocking").generateSeed(count);
        } catch (NoSuchAlgorithmException error) { // on Android and Windows
            byte[] bytes = new byte[count];
            new SecureRandom().nextBytes(bytes);
            return bytes;
        }
    }

    /**
     * Returns bytes of a source; throws LdpException if it returns fewer or more than requested.
     *
     * @param random the source
     * @param count number of bytes
     * @return as many bytes
     */
    public static byte[] take(RandomSource random, int count) {
        byte[] bytes = random.take(count);
        if (bytes == null || bytes.length != count) {
            throw new LdpException("random must return " + count + " bytes", Reason.NO_RANDOMNESS);
        }
        return bytes.clone(); // a source that fills one array again would make the id of the noise
    }
}
