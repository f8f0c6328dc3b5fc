/** Types of `<ldp-survey>` for TypeScript: its attributes in JSX, and its event. */

import type { Reason, State } from "../client/receipt.js";
import type { LdpSurvey } from "./element.js";

export type OutcomeEvent = CustomEvent<{ state: State; reason: Reason | "framed" | "evicted" | "" }>;
export type SurveyAttributes = { src: string; codes?: boolean; rehearsal?: boolean; "onldp-outcome"?: (event: OutcomeEvent) => void } &
  Partial<Record<"class" | "className" | "digest" | "id" | "lang" | "person" | "public-key" | "relay", string>> &
  Partial<Record<"level" | "max-epsilon" | "max-local-epsilon", number | string>> &
  Partial<Record<"children" | "key" | "ref" | "style", unknown>>;
type Elements = { "ldp-survey": SurveyAttributes };

declare global {
  interface HTMLElementTagNameMap { "ldp-survey": LdpSurvey }
  interface HTMLElementEventMap { "ldp-outcome": OutcomeEvent }
  namespace JSX { interface IntrinsicElements extends Elements {} }
}

/** @ts-ignore: an application without React has no such module */
declare module "react" {
  namespace JSX { interface IntrinsicElements extends Elements {} }
}
