// The scale of a look, from nothing to its end.

import { element } from "../dom.js";

export const legend = (top, kind = "ramp") =>
  element("p", { class: "legend quiet" }, "0", element("span", { class: kind }), String(top));
