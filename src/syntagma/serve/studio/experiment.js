/** The page of an experiment with people: which one, by its address. */

import { compare } from "./compare.js";
import { control } from "./control.js";

(window.location.pathname.endsWith("/control") ? control : compare)();
