// Counts of reports and rejections, and the facts of the plan.

import { byId, describe, element } from "./dom.js";
import { Table } from "./table.js";
import * as format from "./format.js";

/** Show the public facts of a plan. */
export function showPlan(plan, digest) {
  describe(byId("plan-facts"), [
    [plan.kind === "silo" ? "Epsilon of one message" : "Epsilon of one report", String(Number(plan.epsilon))],
    ...(plan.label ? [["Class", `${plan.label.name} (${plan.label.values.join(", ")})`]] : []),
    ["Features", format.count(plan.features.length)],
    plan.kind === "silo"
      ? ["Rows of one message", `at most ${format.count(plan.rows)}, and ${format.count(plan.rows_per_person)} of one person`]
      : ["Questions", plan.questions.length === 1 ? "1" : `${format.count(plan.questions.length)}, of which each person answers one`],
    ["Plan's digest", element("code", { class: "digest" }, digest)],
  ]);
}

/** Shows counts, and their changes since the last refresh; `before` is null at first. */
export class Counts {
  constructor() {
    const heads = ["Question", "Mechanism", "Reports", "Change"];
    this.questions = new Table("Reports by question", heads, 2);
    this.rejections = new Table("Rejections by reason", ["Reason", "Reports", "Change"]);
    this.noRejections = element("p", { class: "note" }, "No report was rejected.");
    byId("questions").replaceChildren(this.questions.node);
    byId("rejections").replaceChildren(this.noRejections, this.rejections.node);
  }

  show(now, before) {
    const rejected = total(now.rejections);
    describe(byId("tiles"), [
      ["Reports so far", format.count(now.reports)],
      ["Since last refresh", format.change(before && now.reports - before.reports)],
      ["Rejected", format.count(rejected)],
      ["Rejected since last refresh", format.change(before && rejected - total(before.rejections))],
    ]);
    this.#showQuestions(now, before);
    this.#showRejections(now.rejections, before?.rejections);
  }

  #showQuestions(now, before) {
    this.questions.show(
      now.questions.map(({ name, mechanism, n }, place) => [
        name,
        mechanism,
        format.count(n),
        format.change(before && n - before.questions[place].n),
      ]),
    );
  }

  #showRejections(now, before) {
    const reasons = Object.keys(now).sort((one, other) => now[other] - now[one]);
    this.rejections.node.hidden = reasons.length === 0;
    this.noRejections.hidden = reasons.length > 0;
    this.rejections.show(
      reasons.map((code) => [
        format.reason(code),
        format.count(now[code]),
        format.change(before ? now[code] - (before[code] ?? 0) : null),
      ]),
    );
  }
}

const total = (rejections) => Object.values(rejections).reduce((sum, n) => sum + n, 0);
