/** Fakes for an application's own tests: a collector and a journal in memory. */
package ldpbayes.testing;
