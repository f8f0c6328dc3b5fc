/** The plan: the immutable, hashed form of a survey that device, collector and trainer share. */

import { fromAscii, toHex } from "../bytes.js";
import { LdpError, requireValid, SurveyError } from "../errors.js";
import { checkKeyCount } from "../mechanisms/parameters.js";
import { accumulate, WORD } from "../probability_tables.js";
import { expLowerBound } from "../epsilon_proof.js";
import { hasForm } from "../text_form.js";
import { dumpCanonicalJson, loadCanonicalJson } from "./canonical.js";
import { parseDecimal } from "../decimals.js";
import { readQuestions } from "./questions.js";
import { encodeRow, readRowSchema, requiredEntries } from "./row_schema.js";
import { readValidation } from "./validation_round.js";
import { sha256 as ownSha256 } from "../sha256.js";

/** @typedef {import("../relay/plan_entry.js").RelayEntry} RelayEntry */
/** @typedef {import("./questions.js").Question} Question */
/** @typedef {import("./row_schema.js").RowSchema} RowSchema */
/** @typedef {import("./validation_round.js").Validation} Validation */
/** Times are in seconds since 1970; `closes` is the first second after the wave. */
/** @typedef {{ readonly name: string, readonly opens: number, readonly closes: number }} Wave */
/** With "drawn", devices draw their waves; with "now", each answers in the wave that is open. */
/** @typedef {{ readonly assign: "drawn" | "now", readonly list: readonly Wave[] }} Waves */
/** Whether the wave is open, and still that of the person's entry in the journal. */
/** @typedef {(entry?: { readonly wave?: number }) => boolean} IsDue */
/** By the device's clock. @typedef {Wave & { readonly index: number, isOpen: boolean, isDue: IsDue }} OwnWave */
/** @typedef {Plan & { readonly wave?: OwnWave }} PlanInWave a plan, in the wave of a person if it is known */

const MAX_PLAN_BYTES = 1 << 20;
const SURVEY_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const SHA256 = /^[\da-f]{64}$/;
/** The only other entry of a plan: the name of its series, and its author's key, 32 bytes in base64. */
const SERIES = /^{("series":{"key":"[A-Za-z0-9+/]{43}=","name":"[a-z0-9][a-z0-9-]{0,63}"})?}$/;

/** A compiled survey that has been read and checked by `readPlan`. */
export class Plan {
  /**
   * Check a plan's document. Use `readPlan`, which also checks the bytes.
   *
   * @param {any} document
   * @param {Uint8Array} bytes
   * @param {(bytes: Uint8Array) => Uint8Array} sha256
   * @param {(plan: Plan) => void} [check]
   */
  constructor(document, bytes, sha256, check) {
    const {
      enrolment, epsilon, family, features, format, id, label: _l, projection: _p, questions, relay, tables, texts,
      validation, waves, ...series
    } = document;
    requireValid(
      format === 1 && hasForm(dumpCanonicalJson(series), SERIES) && hasForm(id, SURVEY_ID) &&
        (family === undefined || (hasForm(family, SURVEY_ID) && family !== id)) &&
        (enrolment === undefined || enrolment === "token") && (texts === undefined || hasForm(texts, SHA256)),
    );
    const [units, scale] = parseDecimal(epsilon);
    requireValid(units * 1000n >= scale && units <= scale * (relay?.ask ? 64n : 32n));
    const named = new Set(questions.map((/** @type {any} */ each) => each.tables));
    checkKeyCount(tables, named.size);
    // valid tables are ASCII, which is checked where they are read
    for (const key of named) {
      requireValid(key === toHex(sha256(fromAscii(dumpCanonicalJson(tables[key])))).slice(0, 16));
    }
    /** The survey's id. */
    this.id = /** @type {string} */ (id);
    /** Id of the first of several rounds; by default the survey's own id. */
    this.family = /** @type {string} */ (family ?? id);
    /** Nominal privacy budget of what one person sends, as a decimal. */
    this.epsilon = /** @type {string} */ (epsilon);
    /** Whether only people with an invitation may answer. */
    this.byInvitation = enrolment === "token";
    /** Label, features and projection. @type {RowSchema} */
    this.schema = readRowSchema(document);
    /** The model that devices validate, if there is one. @type {Validation | undefined} */
    this.validation = validation === undefined ? validation : readValidation(document);
    /** The questions, of which each person answers one, or all if the relay asks all. @type {readonly Question[]} */
    this.questions = readQuestions(document, this.schema, expLowerBound([units, scale]));
    requireValid(!this.validation || new Set(this.questions.flatMap((each) => each.features)).size === features.length);
    this.sha256 = sha256;
    this.digestBytes = sha256(bytes);
    /** SHA-256 of the plan, in hexadecimal. */
    this.digest = toHex(this.digestBytes);
    const reached = accumulate(this.questions.map(({ weight }) => BigInt(weight)));
    const total = /** @type {bigint} */ (reached.pop());
    /** The question's index is the number of these limits that are <= a 64-bit draw. */
    this.limits = reached.map((each) => WORD * each / total);
    /** SHA-256 of the survey's texts, in hexadecimal; undefined if it has none. @type {string | undefined} */
    this.texts = texts;
    /** The relay that hides who sent which report. @type {RelayEntry | undefined} */
    this.relay = relay;
    /** The waves in which the questions are asked; each person answers in one. @type {Waves | undefined} */
    this.waves = waves;
    // without the check, the call fails
    if (relay !== undefined || waves !== undefined) /** @type {(plan: Plan) => void} */ (check)(this);
    Object.freeze(this);
  }

  /** What reports add to the index of a question: w Q for Q questions in the wave with index w; see `inWave`. */
  get first() {
    return this.waves ? NaN : 0; // a copy of the plan has none
  }

  /** The label, features and projection that code rows: the plan's own, or the model's. */
  get rowSchema() {
    return this.validation?.schema ?? this.schema;
  }

  /** The entries that a row must have. */
  get entries() {
    return requiredEntries(this.rowSchema);
  }

  /**
   * Code a row and its label, and evaluate the model if there is one. Every entry is checked, independently of
   * the question.
   *
   * @param {Readonly<Record<string, unknown>>} row
   * @param {unknown} [label]
   */
  encode(row, label) {
    const coded = encodeRow(this.rowSchema, row, label);
    return this.validation ? this.validation.validate(coded) : coded;
  }
}

/**
 * Read a plan, check everything in it, and prove that each question spends at most epsilon.
 *
 * Throws SurveyError if the bytes are not a plan, PrivacyError if a question spends more than epsilon.
 *
 * @param {Uint8Array | ArrayBuffer} bytes
 * @param {object} [options]
 * @param {(bytes: Uint8Array) => Uint8Array} [options.sha256] another implementation
 * @param {(plan: Plan) => void} [options.check] throws if the relay or the waves of a plan cannot be used; without it,
 *   every plan with a relay or waves is refused. `checkWaves` of the entry `ldp-bayes/waves` accepts waves
 * @returns {Plan}
 */
export function readPlan(bytes, { sha256 = ownSha256, check } = {}) {
  try {
    const copy = new Uint8Array(bytes);
    requireValid(copy.length <= MAX_PLAN_BYTES);
    return new Plan(loadCanonicalJson(copy), copy, sha256, check);
  } catch (error) {
    if (error instanceof LdpError) throw error;
    throw new SurveyError();
  }
}
