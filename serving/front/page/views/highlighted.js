// What spoke for a label: the words of a text toned by their weights, its lines with a bar each where they have weights.

import { element, shade } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { legend } from "./legend.js";
import { inOrder, named, outputsOf, read, title } from "./looks.js";
import { Pointed, walk } from "./pointed.js";

const LINES = "_lines"; // what the look over the lines of a text ends in
const FAINT = 0.12; // of the largest weight: below it tones fade into the paper

export const highlighted = {
  shows: (outputs, row) => found(outputs, row, {}).flatMap(({ words, lines }) => [words, lines].flatMap((look) => (look ? outputsOf(look.name) : []))),
  draw: (outputs, row, asked) => found(outputs, row, asked).map(figure),
};

/** The looks of the only token of an answer, `{ words, lines }`: over the words of a text, and over its lines or null. */
function found(outputs, row, asked) {
  const looks = inOrder(named(outputs, false), asked).map((name) => read(outputs, name, row, asked));
  const ours = looks.filter(({ said, out, into, weights }) =>
    said && out.length === 1 && into.length > 0 && weights[0]?.some((weight) => weight > 0));
  const linesOf = ({ name, into }) => {
    const lines = ours.find((other) => other.name === name + LINES);
    return lines?.into.length === split(into).length ? lines : null;
  };
  const pairs = ours.map((words) => ({ words, lines: linesOf(words) }));
  const texts = pairs.filter(({ words }) => !pairs.some(({ lines }) => lines === words));
  const one = texts.length === 1 && Object.keys(asked).length < 2; // then nothing needs a name
  return texts.map(({ words, lines }) => ({ words: { ...words, of: one ? "" : words.of }, lines }));
}

/** The places of the words in each line. */
function split(symbols) {
  const lines = [[]];
  symbols.forEach((symbol, place) => (symbol === "\n" ? lines.push([]) : lines.at(-1).push(place)));
  return lines;
}

function figure({ words, lines }) {
  const weights = words.into.map((_, place) => words.weights[0][place] ?? 0);
  const rows = split(words.into).map((places, number) => ({ places, weight: lines ? (lines.weights[0][number] ?? 0) : 1 }));
  const products = new Map(rows.flatMap(({ places, weight }) => places.map((place) => [place, weights[place] * weight])));
  const top = Math.max(...products.values()) || 1;
  const heaviest = Math.max(...rows.map(({ weight }) => weight)) || 1;

  const nodes = new Map([...products].map(([place, product]) => [place, word(words.into[place], product / top)]));
  const text = element("div", { class: lines ? "weighed lined" : "weighed", "aria-hidden": true },
    ...rows.map((row) => line(row, nodes, lines && row.weight / heaviest)));
  const box = element("div", { class: "words", tabindex: 0, role: "application",
    "aria-label": `${nodes.size} words with their weights. Arrow keys move over them.` }, text);
  const pointed = new Pointed();
  walk(box, [...nodes.values()], pointed);
  const reading = element("p", { class: "reading", role: "status" });
  const places = [...nodes.keys()];
  const say = () => reading.replaceChildren(...sentence(words, weights, lines && rows, places[pointed.column]));
  pointed.addEventListener("change", say);
  say();
  return element("figure", { class: "alignment" }, element("figcaption", {}, title(words)), framed(box),
    element("div", { class: "below" }, legend(Number(top.toPrecision(2))), reading), spoken(words, weights, lines && rows));
}

function word(symbol, share) {
  const node = element("span", { class: "symbol" }, legible(symbol, Infinity));
  shade(node, share);
  node.style.setProperty("--there", Math.min(1, share / FAINT));
  return node;
}

function line({ places, weight }, nodes, share) {
  const running = element("p", { class: "line", dir: "auto" }, ...places.flatMap((place) => [nodes.get(place), element("wbr")]));
  if (share === null) return running;
  const bar = element("span", { class: "bar" });
  bar.style.setProperty("--share", share);
  return element("div", { class: "weighed-line" }, element("span", { class: "quiet" }, weight.toFixed(2)), element("span", {}, bar), running);
}

function sentence({ into }, weights, rows, place) {
  if (place === undefined) return ["Point at a word, or move over the words with the arrow keys."];
  const its = [element("bdi", {}, legible(into[place])), ` has weight ${weightOf(weights[place])}`];
  const row = rows?.find(({ places }) => places.includes(place));
  return row ? [...its, ` in its line, which has weight ${weightOf(row.weight)}`] : its;
}

function spoken({ into }, weights, rows) {
  const parts = rows
    ? rows.map(({ places, weight }) => [places.map((place) => legible(into[place])).join(" "), weight])
    : into.map((symbol, place) => [legible(symbol), weights[place]]);
  const head = [rows ? "line" : "word", "weight"].map((name) => element("th", { scope: "col" }, name));
  const body = parts.map(([name, weight]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, weightOf(weight))));
  return element("div", { class: "unseen" }, element("table", {}, element("caption", {}, `Weight of each ${rows ? "line" : "word"}`),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
}
