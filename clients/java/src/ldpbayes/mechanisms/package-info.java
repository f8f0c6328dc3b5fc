/**
 * The mechanisms that randomise one answer, and the proofs of their likelihood ratios.
 *
 * <p>This package is internal: its classes are public only for the other packages of the client, and may
 * change.
 */
package ldpbayes.mechanisms;
