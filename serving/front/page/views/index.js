// The ways to look at an answer. A view is `{ fits(outputs), draw(outputs, row) }`; `draw` gives an element.
// Outputs are by name, one value for each text asked; `row` says which text. All views that fit are shown.

import { alignment } from "./alignment.js";
import { table } from "./table.js";

const VIEWS = [alignment];

export function draw(outputs, row) {
  const fitting = VIEWS.filter((view) => view.fits(outputs));
  return (fitting.length ? fitting : [table]).map((view) => view.draw(outputs, row));
}
