/** The element `<ldp-survey>`: a whole form for one survey. Importing this module defines it. */

export { LdpSurvey } from "./form/element.js";
/** @typedef {import("./form/types.js").OutcomeEvent} OutcomeEvent */
/** @typedef {import("./form/types.js").SurveyAttributes} SurveyAttributes */
