package ldpbayes;

/** A source of random bytes; every function that draws takes its source as an argument. */
public interface RandomSource {
    /**
     * The system's generator, {@code java.security.SecureRandom}.
     *
     * <p>Where Java has the algorithm {@code NativePRNGNonBlocking}, as the OpenJDK has on Linux and macOS,
     * it reads {@code /dev/urandom} for every report and keeps nothing: a cloned machine would copy what is
     * kept, and two reports with the same noise reveal the truth. Elsewhere it is the platform's default,
     * which may keep random bytes or a state in memory.
     */
    RandomSource SYSTEM = new Randomness();

    /**
     * Returns uniformly random bytes.
     *
     * @param count number of bytes
     * @return as many bytes
     */
    byte[] take(int count);
}
