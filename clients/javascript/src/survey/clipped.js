/** Finds numbers that are beyond the public bounds of a survey; they are moved to the nearest end. */

/** @typedef {import("./features.js").Feature} Feature */
/** @typedef {import("./plan.js").Plan} Plan */

/**
 * Return the names of the entries outside their public bounds, of a row that fits the survey.
 *
 * @param {Plan} plan
 * @param {Readonly<Record<string, unknown>>} row
 */
export function clippedNames(plan, row) {
  const { components, features, inputs } = plan.rowSchema;
  const codes = inputs.map((feature) => feature.code(row[feature.name]));
  /** @param {Feature} feature */
  const valueOf = ({ name }) => {
    const component = components.get(name);
    return component ? component(codes) : row[name];
  };
  return [...inputs, ...features]
    .filter((feature) => ["binned", "numeric"].includes(feature.kind) && isOutside(feature, valueOf(feature)))
    .map(({ name }) => name);
}

/**
 * @param {Feature} feature
 * @param {unknown} value
 */
function isOutside({ values }, value) {
  const number = typeof value === "bigint" || typeof value === "number" ? Number(value) : NaN;
  return number < Number(values[0]) || number > Number(values.at(-1));
}
