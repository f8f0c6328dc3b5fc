/**
 * The journal on the device: consent, the one report of each survey, and its outcome.
 *
 * <p>Parameters and results are not null unless their description says so.
 *
 * <p>Applications use {@link ldpbayes.client.journal.JournalStore} and {@link
 * ldpbayes.client.journal.FileStore}. The other classes are internal: they are public only for the other
 * packages of the client, and may change.
 */
package ldpbayes.client.journal;
