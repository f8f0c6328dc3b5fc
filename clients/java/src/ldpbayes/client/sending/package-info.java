/**
 * Sends the queued reports of a journal: the thread, the sending times, and the pauses after failures.
 *
 * <p>All classes are internal: they are public only for the other packages of the client, and may change.
 */
package ldpbayes.client.sending;
