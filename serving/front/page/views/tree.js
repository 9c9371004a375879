// A dependency tree: an arc from each word to those that depend on it; point at a word to see which heads were probable.

import { drawn, element, shade, unshade } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { inOrder, inputOf, named, outputsOf, read } from "./looks.js";
import { Pointed, walk } from "./pointed.js";
import { ranked } from "./ranked.js";

const UNREAD = "_"; // said of a word that was not read
const HEAD = /^(\d+)(?::(.+))?$/;
const ROOT = -1;
const FAINT = 0.02; // probability below which a head is not toned
// In pixels.
const [SIZE, LABEL] = [16, 12]; // of letters
const [SPACE, BESIDE, PORT, CORNER, ARROW] = [18, 40, 9, 8, 4]; // between words, beside labels, between the ends of arcs
const [LEVEL, WORD, EDGE] = [26, 34, 12]; // heights, and what is left around

export const tree = {
  shows: (outputs, row) => found(outputs, row, {}).flatMap(({ name, heads, tokens }) => [...outputsOf(name), heads === tokens ? "tokens" : name]),
  draw: (outputs, row, asked) => found(outputs, row, asked).filter(({ heads }) => heads.length).map(figure),
};

/** The looks of words at each other with their `heads`, `2` or `2:nsubj`: an output of the look's name, or the tokens. */
function found(outputs, row, asked) {
  const looks = inOrder(named(outputs, false), asked).map((name) => read(outputs, name, row, asked));
  return looks.filter(({ into, out }) => out.join("\n") === into.join("\n")).flatMap((look) => {
    const part = outputs[look.name]?.[row];
    const best = Array.isArray(part) ? part.slice(0, look.into.length).map(String) : [];
    const roots = best.filter((head) => head === "0").length;
    const none = roots === best.length && roots !== 1; // nothing was read
    if (part && areHeads(best, look.into) && (roots || none)) return [{ ...look, heads: none ? [] : best, of: Object.keys(asked).length > 1 ? inputOf(look.name, asked) : "" }];
    const said = !look.said && look.tokens.length > 0 && areHeads(look.tokens, look.into);
    return said ? [{ ...look, heads: look.tokens, of: "" }] : [];
  });
}

function areHeads(heads, into) {
  const isHead = (head, place) => head <= into.length && head !== place + 1;
  return heads.length === into.length && heads.every((head, place) => head === UNREAD || (HEAD.test(head) && isHead(parseInt(head), place)));
}

function figure(look) {
  const { into, heads, weights } = look;
  const of = look.of && ` of ${look.of}`;
  const words = into.map((word) => legible(word));
  const share = (word, head) => (head === ROOT ? Math.max(0, 1 - into.reduce((sum, _, each) => sum + share(word, each), 0)) : (weights[word]?.[head] ?? 0));
  const arcs = heads.flatMap((token, word) => {
    const [, number, relation] = token.match(HEAD) ?? [];
    if (number === undefined) return [];
    const head = number - 1;
    return [{ word, head, label: relation ?? (head === ROOT ? "root" : ""), span: head === ROOT ? [word, word] : [Math.min(word, head), Math.max(word, head)] }];
  });
  const plan = layOut(words, arcs);
  const nodes = words.map((word, place) => wordAt(word, plan, place));
  const lines = arcs.map((arc) => line(arc, plan));
  const svg = drawn("svg", { class: "tree", "aria-hidden": true, width: plan.width, height: plan.base + WORD }, ...lines, ...nodes);
  const box = element("div", { class: "words", tabindex: 0, role: "application",
    "aria-label": `Tree over ${words.length} words${of}. Arrow keys move over them.` }, svg);
  const pointed = new Pointed();
  walk(box, nodes, pointed);
  const name = (word) => (words.indexOf(words[word]) === words.lastIndexOf(words[word]) ? words[word] : `${words[word]} (${word + 1})`);
  const above = (head) => (head === ROOT ? "the root" : name(head));
  const each = arcs.map(({ word, head }) => [`${name(word)} \u2190 ${above(head)}`, share(word, head)]);
  const { node, tell } = ranked("Point at a word, or move over the words with the arrow keys, to see how probable its heads are.", each, words.length);
  pointed.addEventListener("change", () => {
    const { column } = pointed;
    svg.classList.toggle("picked", column >= 0);
    lines.forEach((each, index) => each.classList.toggle("its", column >= 0 && [arcs[index].word, arcs[index].head].includes(column)));
    nodes.forEach((each, head) => paint(each.firstChild, column < 0 ? 0 : share(column, head)));
    if (column < 0) return tell();
    const title = element("p", {}, element("b", { dir: "auto" }, words[column]), " depends on");
    tell(title, [ROOT, ...words.keys()].map((head) => [above(head), share(column, head)]));
  });
  return element("figure", { class: "alignment" }, element("figcaption", {}, `What each word${of} depends on`), framed(box), node,
    spoken(words, arcs, share, of));
}

function paint(rect, share) {
  if (share > FAINT) shade(rect, share);
  else unshade(rect);
}

// Where everything stands

function layOut(words, arcs) {
  const pen = document.createElement("canvas").getContext("2d");
  const measure = (text, size) => {
    pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return pen.measureText(text).width;
  };
  const widths = words.map((word) => measure(word, SIZE));
  const centres = [];
  widths.forEach((width, word) => {
    const ending = arcs.filter(({ span }) => span[1] === word).map(({ head, label, span }) =>
      head === ROOT ? EDGE + measure(label, LABEL) / 2 : centres[span[0]] + measure(label, LABEL) + BESIDE);
    const beside = word ? centres[word - 1] + widths[word - 1] / 2 + SPACE + width / 2 : EDGE + width / 2;
    centres.push(Math.max(beside, ...ending));
  });
  const levels = levelsOf(arcs);
  const base = EDGE + LEVEL * Math.max(0, ...levels.values());
  return { centres, widths, levels, ports: portsOf(arcs, levels, centres, widths), base, width: Math.ceil(centres.at(-1) + widths.at(-1) / 2 + EDGE) };
}

/** The height of each arc, from 1: above all that it spans or meets on the way; a root above all at its word. */
function levelsOf(arcs) {
  const levels = new Map();
  const length = ({ head, span }) => (head === ROOT ? Infinity : span[1] - span[0]);
  for (const arc of [...arcs].sort((a, b) => length(a) - length(b) || 0)) {
    const [left, right] = arc.span;
    const meets = ({ span }) => (arc.head === ROOT ? span[0] <= left && left <= span[1] : span[0] < right && left < span[1]);
    levels.set(arc, 1 + Math.max(0, ...[...levels].filter(([other]) => meets(other)).map(([, level]) => level)));
  }
  return levels;
}

/** Where arcs end at each word, in a map for each arc: those to the left at the left, so that they do not cross. */
function portsOf(arcs, levels, centres, widths) {
  const ports = new Map(arcs.map((arc) => [arc, {}]));
  centres.forEach((centre, word) => {
    const side = ({ span }) => Math.sign(span[0] + span[1] - 2 * word);
    const here = arcs.filter(({ span }) => span.includes(word));
    here.sort((a, b) => side(a) - side(b) || -side(a) * (levels.get(a) - levels.get(b)));
    const step = Math.min(PORT, widths[word] / Math.max(1, here.length));
    here.forEach((arc, place) => (ports.get(arc)[word] = centre + step * (place - (here.length - 1) / 2)));
  });
  return ports;
}

// What is drawn

function wordAt(word, { centres, widths, base }, place) {
  const [x, width] = [centres[place], widths[place]];
  return drawn("g", { class: "leaf" },
    drawn("rect", { x: x - width / 2 - SPACE / 3, y: base + 4, width: width + (2 * SPACE) / 3, height: WORD - 8, rx: 4 }),
    drawn("text", { x, y: base + WORD / 2 }, word));
}

function line(arc, { ports, levels, base }) {
  const end = ports.get(arc)[arc.word];
  const start = arc.head === ROOT ? end : ports.get(arc)[arc.head];
  const top = base - LEVEL * levels.get(arc);
  const side = Math.sign(end - start);
  const corner = Math.min(CORNER, Math.abs(end - start) / 2);
  const path = side
    ? `M${start},${base}V${top + corner}Q${start},${top} ${start + side * corner},${top}H${end - side * corner}Q${end},${top} ${end},${top + corner}V${base}`
    : `M${end},${top}V${base}`;
  const tip = `${end},${base + 1} ${end - ARROW},${base - 2 * ARROW} ${end + ARROW},${base - 2 * ARROW}`;
  return drawn("g", { class: "arc" }, drawn("path", { d: path }), drawn("polygon", { points: tip }),
    drawn("text", { x: (start + end) / 2, y: top }, arc.label));
}

function spoken(words, arcs, share, of) {
  const head = ["word", "head", "relation", "probability"].map((name) => element("th", { scope: "col" }, name));
  const rows = arcs.map(({ word, head, label }) =>
    element("tr", {}, element("th", { scope: "row" }, words[word]),
      ...[head === ROOT ? "the root" : words[head], label, weightOf(share(word, head))].map((part) => element("td", {}, part))));
  return element("div", { class: "unseen" }, element("table", {}, element("caption", {}, `The head of each word${of}`),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}
