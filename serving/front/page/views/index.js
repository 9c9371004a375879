// The ways to look at an answer. A view is `{ shows(outputs, row, asked), draw(outputs, row, asked, canvases) }`: the names of
// the outputs that it shows, none where it does not fit, and a list of elements. Outputs are by name, one value for each
// row asked; `row` says which; `asked` has the values of the inputs by name, `canvases` the height and width to which a
// picture is padded. A look is drawn by the first view that shows it. What no view shows is in a table.

import { alignment } from "./alignment.js";
import { facts } from "./facts.js";
import { frames } from "./frames.js";
import { grid } from "./grid.js";
import { heard } from "./heard.js";
import { highlighted } from "./highlighted.js";
import { phrases } from "./phrases.js";
import { table } from "./table.js";
import { tags } from "./tags.js";
import { tree } from "./tree.js";

const VIEWS = [heard, frames, tree, facts, phrases, tags, highlighted, alignment, grid];

/** Whether a view shows what was said, symbol by symbol. */
export const tells = (outputs, row, asked) => shared(outputs, row, asked).some(({ names }) => names.includes("tokens"));

/** Elements for all outputs but those that were `said` already. */
export function draw(outputs, row, asked, { said, canvases }) {
  const found = shared(outputs, row, asked);
  const shown = found.flatMap(({ names }) => names);
  const parts = found.flatMap(({ view, free, names }) => (names.length ? view.draw(free, row, asked, canvases) : []));
  const shape = (name) => name.endsWith("_shape") && name.slice(0, -"_shape".length) in outputs; // of a part: for programs
  const rest = without(outputs, [...said, ...shown, ...Object.keys(outputs).filter(shape)]);
  const { tokens, ...others } = rest;
  const beside = Object.values(others).some((part) => part?.[row]?.length === tokens?.[row]?.length);
  const left = said.length && !beside ? others : rest; // the symbols of an answer that was said tell nothing alone
  return [...parts, ...table.draw(left, row, asked)];
}

/** Which outputs each view shows, among those that none before it does. */
function shared(outputs, row, asked) {
  const shown = [];
  return VIEWS.map((view) => {
    const free = without(outputs, shown.filter((name) => name !== "tokens"));
    const names = view.shows(free, row, asked);
    shown.push(...names);
    return { view, free, names };
  });
}

const without = (outputs, names) => Object.fromEntries(Object.entries(outputs).filter(([name]) => !names.includes(name)));
