package ldpbayes;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * SHA-256 of the platform.
 *
 * <p>It hashes plans and tokens, which are public or random. It never hashes a value of a row.
 */
public final class Sha256 {
    private Sha256() {
    }

    /**
     * Returns the digest of bytes.
     *
     * @param parts arrays of bytes, which are hashed as one
     * @return 32 bytes
     */
    public static byte[] of(byte[]... parts) {
        return digest("SHA-256", parts);
    }

    static byte[] digest(String algorithm, byte[]... parts) {
        try {
            MessageDigest digest = MessageDigest.getInstance(algorithm);
            for (byte[] part : parts) {
                digest.update(part);
            }
            return digest.digest();
        } catch (NoSuchAlgorithmException error) {
            throw new LdpException(algorithm + " is missing on this platform", Reason.INTERNAL_ERROR);
        }
    }
}
