/**
 * The core of the client for Android and the JVM: it reads and checks a plan, and makes reports.
 *
 * <p>The core stores nothing and sends nothing; {@code ldpbayes.client} does. Values of rows are randomised
 * by integer tables under epsilon-local differential privacy. Java does not promise that operations take the
 * same time for all values.
 *
 * <p>Parameters and results are not null unless their description says so.
 *
 * <p>Applications use {@link ldpbayes.Core}, {@link ldpbayes.RandomSource}, {@link ldpbayes.Reason} and the
 * exceptions. The other classes are internal: they are public only for the other packages of the client, and
 * may change.
 */
package ldpbayes;
