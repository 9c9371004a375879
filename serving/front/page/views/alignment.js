// What each symbol of the answer looked at: as highlighted text, as a map, and as a table for screen readers.

import { element } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { highlight } from "./highlight.js";
import { legend } from "./legend.js";
import { inOrder, named, outputsOf, read, title } from "./looks.js";
import { map } from "./map.js";
import { Pointed } from "./pointed.js";

export const alignment = {
  shows: (outputs) => named(outputs, false).flatMap(outputsOf),
  draw: (outputs, row, asked) =>
    inOrder(named(outputs, false), asked).map((name) => figure(scaled(outputs, read(outputs, name, row, asked), row))),
};

function figure(look) {
  if (!look.top) return element("p", { class: "quiet" }, nothing(look));
  const pointed = new Pointed();
  const reading = element("p", { class: "reading", role: "status" });
  const say = () => reading.replaceChildren(...sentence(look, pointed));
  pointed.addEventListener("change", say);
  say();
  return element(
    "figure",
    { class: "alignment" },
    element("figcaption", {}, title(look)),
    highlight(look, pointed),
    map(look, pointed),
    element("div", { class: "below" }, legend(look.top), reading),
    spoken(look),
  );
}

/** A look with full rows of weights; `top` is the end of the scale, 0 where there is nothing to see. */
function scaled(outputs, look, row) {
  const weights = look.out.map((_, i) => look.into.map((_, j) => look.weights[i]?.[j] ?? 0));
  const largest = Math.max(0, ...weights.flat());
  const text = look.said ? (outputs.text?.[row] ?? "") : "";
  return { ...look, weights, text, top: Math.ceil(Math.round(largest * 1e4) / 1e3) / 10 };
}

function nothing({ into, out, of }) {
  if (!into.length) return `There is nothing to attend to: ${of || "the text"} is empty.`;
  if (out.length) return `This model has no attention over ${of || "the text"}.`;
  return of ? `The answer is empty, so there is no attention over ${of}.` : "The answer is empty, so there is no attention.";
}

function sentence(look, { row, column }) {
  const { into, out, weights } = look;
  if (row < 0 && column < 0) return ["Point at a token or a tile, or move over the map with the arrow keys."];
  if (column < 0) return [apart(out[row]), " attends to ", ...most(into, weights[row])];
  if (row < 0) return [apart(into[column]), " is attended to by ", ...most(out, weights.map((each) => each[column]))];
  return [apart(out[row]), " attends to ", apart(into[column]), ` with weight ${weightOf(weights[row][column])}`];
}

const apart = (symbol) => element("bdi", {}, legible(symbol)); // of either direction, whatever the sentence around it

function most(symbols, weights) {
  const order = weights.map((weight, index) => [weight, symbols[index]]).sort(([a], [b]) => b - a);
  return order.slice(0, 3).flatMap(([weight, symbol], index) => [index ? ", " : "", apart(symbol), ` (${weightOf(weight)})`]);
}

function spoken({ into, out, weights, of, said }) {
  const caption = `Weight of each token of ${of || "the text"} for each ${said ? "token of the answer" : "query"}`;
  const head = into.map((symbol) => element("th", { scope: "col" }, legible(symbol)));
  const rows = out.map((symbol, i) =>
    element("tr", {}, element("th", { scope: "row" }, legible(symbol)),
      ...weights[i].map((weight) => element("td", {}, weightOf(weight)))),
  );
  return element("div", { class: "unseen" },
    element("table", {}, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, said ? "answer" : "query"), ...head)),
      element("tbody", {}, ...rows)));
}
