/**
 * Previews: they explain one report to the person whose answer it is.
 *
 * <p>Parameters and results are not null unless their description says so.
 *
 * <p>Applications use {@link ldpbayes.explain.Preview} and {@link ldpbayes.explain.PreviewOptions}.
 */
package ldpbayes.explain;
