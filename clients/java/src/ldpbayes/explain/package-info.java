/**
 * Previews: they explain one report to the person whose answer it is.
 *
 * <p>Applications use {@link ldpbayes.explain.Preview} and {@link ldpbayes.explain.PreviewOptions}.
 */
package ldpbayes.explain;
