// The ways to look at an answer. A view is `{ shows(outputs), draw(outputs, row, asked) }`: the names of the outputs
// that it shows, none where it does not fit, and a list of elements. Outputs are by name, one value for each row asked;
// `row` says which; `asked` has the values of the inputs by name. What no view shows is in a table.

import { alignment } from "./alignment.js";
import { grid } from "./grid.js";
import { table } from "./table.js";

const VIEWS = [alignment, grid];

/** Elements for all outputs but those that were `said` already. */
export function draw(outputs, row, asked, said) {
  const fitting = VIEWS.filter((view) => view.shows(outputs).length);
  const shown = [...said, ...fitting.flatMap((view) => view.shows(outputs))];
  const shape = (name) => name.endsWith("_shape") && name.slice(0, -"_shape".length) in outputs; // of a part: for programs
  const rest = Object.fromEntries(Object.entries(outputs).filter(([name]) => !shown.includes(name) && !shape(name)));
  const { tokens, ...parts } = rest;
  const beside = Object.values(parts).some((part) => part?.[row]?.length === tokens?.[row]?.length);
  const left = said.length && !beside ? parts : rest; // the symbols of an answer that was said tell nothing alone
  return [...fitting, table].flatMap((view) => view.draw(view === table ? left : outputs, row, asked));
}
