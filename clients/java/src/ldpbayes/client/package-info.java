/**
 * The client: it randomises one answer, writes the report to a journal, and sends it once.
 *
 * <p>Parameters and results are not null unless their description says so.
 *
 * <p>Applications use {@link ldpbayes.client.Client}, {@link ldpbayes.client.ClientOptions}, {@link
 * ldpbayes.client.Receipt}, {@link ldpbayes.client.State}, {@link ldpbayes.client.Transport}, {@link
 * ldpbayes.client.HttpTransport} and the exceptions. The other classes are internal: they are public only for
 * the other packages of the client, and may change.
 */
package ldpbayes.client;
