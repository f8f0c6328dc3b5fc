/** The element `<ldp-survey>`: a whole form for one survey. Importing this module defines it. */

export { LdpSurvey } from "./form/element.js";
