/**
 * Surveys as plans: reads a plan, codes a row, and randomises one answer.
 *
 * <p>Parameters and results are not null unless their description says so.
 *
 * <p>Applications use {@link ldpbayes.survey.Plan}, {@link ldpbayes.survey.Feature}, and what displays texts:
 * {@link ldpbayes.survey.DisplayTexts} and {@link ldpbayes.survey.EntryTexts}. The other classes are
 * internal: they are public only for the other packages of the client, and may change.
 */
package ldpbayes.survey;
