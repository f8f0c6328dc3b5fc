/**
 * Invitations: in a survey by invitation, a token determines the question and counts once.
 *
 * A token is the id of a report, which the operator draws instead of the device. A device receives it as text
 * with four check bytes: it refuses a misspelt token, or one of another plan, before anything is drawn.
 */

import { concatenate, fromAscii, toHex } from "../bytes.js";
import { TokenError } from "../errors.js";

/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {Pick<Plan, "digestBytes" | "first" | "sha256"> & { questions: { length: number } }} PlanOfToken */

const ID_BYTES = 16;
const CHECK_DIGITS = 8;

/**
 * Return the question's index and the report's id in a token; undefined if the survey needs no invitation.
 *
 * @param {Plan} plan
 * @param {unknown} token
 */
export function readInvitation(plan, token) {
  const given = token !== null && token !== undefined;
  if (given !== plan.byInvitation) {
    throw new TokenError(
      given ? "is not needed: leave it out" : "is missing: give the person's invitation",
    );
  }
  return given ? parseToken(plan, String(token)) : undefined;
}

/**
 * @param {PlanOfToken} plan
 * @param {string} text
 */
export function parseToken({ digestBytes, first, questions, sha256 }, text) {
  const letters = text.replace(/[- \t\r\n]/g, "");
  const data = /^[a-zA-Z2-7]{32}$/.test(letters) ? decodeBase32(letters) : new Uint8Array();
  const id = data.slice(0, ID_BYTES);
  const index = id[0] * 256 + id[1] - first;
  const check = sha256(concatenate(fromAscii("ldp-bayes token check\0"), digestBytes, id));
  if (toHex(data.subarray(ID_BYTES)) === toHex(check).slice(0, CHECK_DIGITS) && index >>> 0 < questions.length) {
    return { index, id };
  }
  throw new TokenError("is misspelt or for another survey or wave: copy it again");
}

/**
 * Decode base32 (RFC 4648, section 6): eight letters are five bytes. A to Z stand for 0 to 25, 2 to 7 for 26 to 31.
 *
 * @param {string} letters
 */
function decodeBase32(letters) {
  // the 34 digits from 2 to z, of which base32 lacks 8 and 9, counted from a
  const digits = Array.from(letters, (letter) => (parseInt(letter, 36) + 24) % 34);
  const bits = digits.map((digit) => digit.toString(2).padStart(5, "0")).join("");
  return Uint8Array.from(/** @type {string[]} */ (bits.match(/.{8}/g)), (byte) => parseInt(byte, 2));
}
