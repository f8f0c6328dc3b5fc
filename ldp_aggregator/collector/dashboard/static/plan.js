// Shows the public facts of a plan.

import { byId, element, formatCount } from "./dom.js";

export function showPlan(plan, digest) {
  const isOfSilos = plan.kind === "silo";
  const facts = [
    [isOfSilos ? "Epsilon of one message" : "Epsilon of one report", String(Number(plan.epsilon))],
    ...(plan.label ? [["Label", `${plan.label.name} (${plan.label.values.join(", ")})`]] : []),
    ["Features", formatCount(plan.features.length)],
    isOfSilos
      ? ["Rows of one message", `at most ${formatCount(plan.rows)}, and ${formatCount(plan.rows_per_person)} of one person`]
      : ["Questions", plan.questions.length === 1 ? "1" : `${formatCount(plan.questions.length)}, of which each person answers one`],
    ["Plan's digest", element("code", { class: "digest" }, digest)],
  ];
  byId("plan-facts").replaceChildren(
    ...facts.map(([term, fact]) => element("div", {}, element("dt", {}, term), element("dd", {}, fact))),
  );
}
