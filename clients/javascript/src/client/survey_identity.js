/**
 * The identity of a survey in a journal: its id together with its publisher.
 *
 * An id or a family alone identifies nothing. Any collector can publish a plan under any name, and could find
 * out who answered another collector's survey.
 */

/**
 * @typedef {object} SurveyIdentity
 * @property {string} survey the survey's id
 * @property {string} origin scheme, host and port of its URL
 * @property {string} signer the public key that the application pins, or an empty text
 */

/**
 * Return scheme, host and port of a URL in canonical form: no default port, and no dot at the end of the host.
 *
 * @param {string} url
 */
export function originOfUrl(url) {
  return new URL(url).origin.replace(/\.(?=(:\d+)?$)/, "");
}

/**
 * Return whether two surveys have the same publisher: equal origins, or equal author's keys.
 *
 * @param {SurveyIdentity} one
 * @param {SurveyIdentity} other
 */
export function hasSamePublisher(one, other) {
  return one.origin === other.origin || (one.signer !== "" && one.signer === other.signer);
}
