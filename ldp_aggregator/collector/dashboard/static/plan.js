// Shows the public facts of a plan.

import { byId, element } from "./dom.js";
import * as format from "./format.js";

export function showPlan(plan, digest) {
  const isOfSilos = plan.kind === "silo";
  const facts = [
    [isOfSilos ? "Epsilon of one message" : "Epsilon of one report", String(Number(plan.epsilon))],
    ...(plan.label ? [["Class", `${plan.label.name} (${plan.label.values.join(", ")})`]] : []),
    ["Features", format.count(plan.features.length)],
    isOfSilos
      ? ["Rows of one message", `at most ${format.count(plan.rows)}, and ${format.count(plan.rows_per_person)} of one person`]
      : ["Questions", plan.questions.length === 1 ? "1" : `${format.count(plan.questions.length)}, of which each person answers one`],
    ["Plan's digest", element("code", { class: "digest" }, digest)],
  ];
  byId("plan-facts").replaceChildren(
    ...facts.map(([term, fact]) => element("div", {}, element("dt", {}, term), element("dd", {}, fact))),
  );
}
