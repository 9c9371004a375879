// Looks over time: what was looked at, below it a row of weights for each symbol; and as a table. A kind of them is one
// object:
//   called              the class of its chart
//   of(file)            whether it shows looks at this file
//   place(name, index)  whether a place may have this name
//   much                the share of a symbol's largest weight that the bracket is around
//   words(look)         title, label, rest, caption; what: "the sound"; none: why there are no places; most: "was heard
//                       most at"; each: the same of any place, where cells tell theirs
//   where(place, look)  a place as it is said
//   draw(look, file, { above, below, bracket, pointed, weights })
//                       adds what was looked at `above(node, ...beside)` the rows, the bracket in it, and a scale `below(node)`

import { drawn, element, shade } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { legend } from "./legend.js";
import { inOrder, named, outputsOf, read } from "./looks.js";
import { Pointed, walk } from "./pointed.js";

/** The view of a kind. */
export function overTime(kind) {
  function found(outputs, row, asked) {
    const names = inOrder(named(outputs, false), asked).filter((name) => asked[name] instanceof Blob && kind.of(asked[name]));
    return names.map((name) => read(outputs, name, row, asked)).filter(({ into }) => into.every(kind.place));
  }
  return {
    shows: (outputs, row, asked) => found(outputs, row, asked).flatMap(({ name }) => outputsOf(name)),
    draw: (outputs, row, asked) => found(outputs, row, asked).map((look) => figure(kind, look, asked[look.name])),
  };
}

function figure(kind, look, file) {
  const words = kind.words(look);
  const weights = look.out.map((_, row) => look.into.map((_, place) => look.weights[row]?.[place] ?? 0));
  const largest = weights.flat().reduce((most, weight) => Math.max(most, weight), 0);
  if (!largest) return element("p", { class: "quiet" }, nothing(look, words));
  const top = Number(largest.toPrecision(2));
  const looks = weights.map((each, row) => {
    const when = (place) => `${kind.where(place, look)}, with weight ${weightOf(each[place])}`;
    return { symbol: legible(look.out[row]), when, ...most(each, kind.much) };
  });
  const tracks = weights.map((each, row) => track(looks[row].symbol, each, top, words.each));
  const bracket = element("div", { class: "bracket", hidden: true });
  const chart = element("div", { class: `tracks ${kind.called}`, "aria-hidden": true }, ...tracks);
  chart.style.setProperty("--places", look.into.length);
  const box = element("div", { class: "words", tabindex: 0, role: "application", "aria-label": words.label }, chart);
  const reading = element("p", { class: "reading", role: "status" });
  const pointed = new Pointed();
  follow(box, tracks, looks, words, { reading, pointed });
  surround(bracket, looks, look.into.length, pointed);
  kind.draw(look, file, { ...around(chart), bracket, pointed, weights });
  return element("figure", { class: "alignment" }, element("figcaption", {}, words.title), framed(box),
    element("div", { class: "below" }, legend(top), reading), table(looks, words));
}

/** The place of the largest weight, and from which place to which there is much of it. */
function most(weights, share) {
  const place = weights.indexOf(Math.max(...weights));
  const much = (weight) => weight >= share * weights[place];
  const after = weights.findIndex((weight, index) => index > place && !much(weight));
  const first = weights.findLastIndex((weight, index) => index < place && !much(weight)) + 1;
  return { place, first, last: (after < 0 ? weights.length : after) - 1 };
}

function track(symbol, weights, top, each) {
  const cells = weights.map((weight, x) => {
    const cell = drawn("rect", { x, width: 1, height: 1, "data-place": each && x });
    shade(cell, weight / top);
    return cell;
  });
  return element("div", { class: "track" }, element("span", { class: "name", dir: "auto" }, symbol),
    drawn("svg", { viewBox: `0 0 ${weights.length} 1`, preserveAspectRatio: "none" }, ...cells));
}

/** Ways to add to a chart, with something or nothing in the column of the names. */
const around = (chart) => ({
  above: (node, ...beside) =>
    chart.prepend(element("div", { class: "wave" }, element("span", { class: "range quiet" }, ...beside), node)),
  below: (node) => chart.append(element("span", { class: "blank" }), node),
});

/** Tells of a symbol that is pointed at, and of a cell where cells have a place to tell. */
function follow(box, tracks, looks, words, { reading, pointed }) {
  const tell = (place) => {
    const look = looks[pointed.column];
    const said = look && (place ? `${words.each} ${look.when(place)}` : `${words.most} ${look.when(look.place)}`);
    reading.replaceChildren(...(look ? [element("bdi", {}, look.symbol), ` ${said}`] : [words.rest]));
  };
  const over = ({ target }) => {
    const row = tracks.findIndex((track) => track.contains(target));
    if (row < 0) return;
    pointed.at(-1, row);
    tell(target.dataset.place);
  };
  tell();
  pointed.addEventListener("change", () => tell());
  if (words.each) box.addEventListener("pointerover", over);
  walk(box, tracks, pointed, {
    ArrowUp: (at) => Math.max(0, at - 1),
    ArrowDown: (at) => Math.min(tracks.length - 1, at + 1),
  });
  box.addEventListener("keydown", () => {
    const look = looks[pointed.column];
    if (look) tracks[pointed.column].querySelectorAll("rect")[look.place].scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

/** Puts the bracket where the symbol has much of its weight that is pointed at. */
function surround(bracket, looks, places, pointed) {
  pointed.addEventListener("change", () => {
    const look = looks[pointed.column];
    bracket.hidden = !look;
    if (!look) return;
    bracket.style.left = `${(100 * look.first) / places}%`;
    bracket.style.width = `${(100 * (look.last + 1 - look.first)) / places}%`;
  });
}

function table(looks, { most, caption }) {
  const rows = looks.map(({ symbol, when, place }) =>
    element("tr", {}, element("th", { scope: "row", dir: "auto" }, symbol), element("td", {}, when(place))));
  const head = ["token", most].map((name) => element("th", { scope: "col" }, name));
  return element("details", {}, element("summary", {}, "In words"),
    element("table", {}, element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

function nothing({ into, out }, { what, none }) {
  if (!into.length) return none;
  return out.length ? `This model has no attention over ${what}.` : `The answer is empty, so there is no attention over ${what}.`;
}
