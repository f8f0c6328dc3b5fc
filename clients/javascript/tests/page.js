/** Makes the core available to a test that controls the page. */

import * as core from "../src/core.js";
import { answer } from "./answer.js";

Object.assign(globalThis, { answer, core });
