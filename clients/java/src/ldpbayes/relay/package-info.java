/**
 * Relays: checks what a plan promises about its relay, and seals what a person sends through it.
 */
package ldpbayes.relay;
