/**
 * Fakes for an application's own tests: a collector and a journal in memory.
 *
 * <p>Parameters and results are not null unless their description says so.
 */
package ldpbayes.testing;
