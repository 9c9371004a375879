// A sentence under its binary tree, every node in the colour of its label; point at one to see how probable its labels are.

import { drawn, element } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { inOrder, named, outputsOf, read } from "./looks.js";
import { Pointed, walk } from "./pointed.js";
import { ranked } from "./ranked.js";

const NODES = "_nodes"; // what the look over the nodes of a tree ends in
const SIGNS = { "very negative": "\u2212\u2212", negative: "\u2212", neutral: "0", positive: "+", "very positive": "++" };
const DEEP = 0.8; // from here on to the ends of the scale a sign is written in the other ink
// In pixels.
const SIZE = 16; // of letters
const [RADIUS, CORNER] = [12, 8]; // of a node, of a line
const [SPACE, APART] = [16, 30]; // between words, between nodes over short ones
const [LEVEL, TIGHTEST, TALL] = [40, 21, 480]; // from level to level, in a tree that would be taller less, but so much at least
const [WORD, EDGE] = [36, 12]; // the height of a word, and what is left around
const [ROOM, LEAN] = [860, 55]; // wider words lean, by so many degrees

export const phrases = {
  shows: (outputs, row) => found(outputs, row, {}).flatMap(({ name }) => outputsOf(name)),
  draw: (outputs, row, asked) => found(outputs, row, asked).map(figure),
};

/** The looks of which the rows are all labels there are, and the places what stands below each node of a tree. */
function found(outputs, row, asked) {
  const looks = inOrder(named(outputs, false), asked).map((name) => read(outputs, name, row, asked));
  return looks.filter(({ name, tokens, into, out }) =>
    tokens.length === 1 && out.length > 1 && out.includes(tokens[0]) && (into.length > 1 || name.endsWith(NODES)) && nodesOf(into).length > 0);
}

/** The nodes in the order in which brackets open, none where the phrases form no binary tree. A word has level 0. */
function nodesOf(into) {
  const words = into[0]?.split(" ") ?? [];
  if (words.includes("") || into.length !== 2 * words.length - 1) return [];
  const nodes = [];
  const waiting = [{ first: 0, end: words.length, parent: -1 }];
  while (waiting.length) {
    const { first, end, parent } = waiting.pop();
    const [number, inner] = [nodes.length, end - first > 1];
    const middle = inner ? first + into[number + 1].split(" ").length : first;
    if (into[number] !== words.slice(first, end).join(" ") || middle >= end) return [];
    nodes.push({ first, end, parent, children: inner ? [number + 1, number + 2 * (middle - first)] : [], level: 0 });
    if (inner) waiting.push({ first: middle, end, parent: number }, { first, end: middle, parent: number });
  }
  for (const node of [...nodes].reverse()) node.level = Math.max(0, ...node.children.map((child) => nodes[child].level + 1));
  return nodes;
}

function figure({ into, out, weights }) {
  const nodes = nodesOf(into);
  const share = (label, node) => weights[label]?.[node] ?? 0;
  const best = nodes.map((_, node) => [...out.keys()].reduce((most, label) => (share(label, node) > share(most, node) ? label : most), 0));
  const signs = signsOf(out);
  const said = `${legible(out[best[0]])} ${share(best[0], 0).toFixed(2)}`;
  const plan = layOut(into[0].split(" ").map((word) => legible(word)), nodes, said);
  const lines = nodes.flatMap(({ children }, node) => children.map((child) => line(plan, node, child)));
  const groups = nodes.map((node, number) => group(plan, node, number, signs[best[number]], placeOf(out, (label) => share(label, number))));
  const above = drawn("text", { class: "root", x: plan.above, y: EDGE + SIZE / 2 }, said);
  const svg = drawn("svg", { class: "phrases", "aria-hidden": true, width: plan.width, height: plan.height }, above, ...lines, ...groups);
  const box = element("div", { class: "words", tabindex: 0, role: "application",
    "aria-label": `Tree of ${nodes.length} phrases with their labels. Arrow keys move over it, up and down between a phrase and its parts.` }, svg);
  const pointed = new Pointed();
  walk(box, groups, pointed, {
    ArrowUp: (node) => (node ? nodes[node].parent : undefined),
    ArrowDown: (node) => nodes[node].children[0],
  });
  const each = nodes.map((_, node) => [`${legible(into[node])}: ${legible(out[best[node]])}`, share(best[node], node)]);
  const { node, tell } = ranked("Point at a node, or move over the tree with the arrow keys, to see how probable the labels of its phrase are.", each);
  pointed.addEventListener("change", () => {
    const { column } = pointed;
    const inside = (number) => column >= 0 && nodes[column].first <= nodes[number].first && nodes[number].end <= nodes[column].end;
    svg.classList.toggle("picked", column >= 0);
    groups.forEach((part, number) => part.classList.toggle("its", inside(number)));
    lines.forEach((part) => part.classList.toggle("its", inside(Number(part.dataset.parent))));
    if (column < 0) return tell();
    const title = element("p", {}, element("b", { dir: "auto" }, legible(into[column], Infinity)), " is");
    tell(title, out.map((label, place) => [legible(label), share(place, column)]));
  });
  return element("figure", { class: "alignment" }, element("figcaption", {}, "The label of each phrase"), framed(box), scale(out, signs), node,
    spoken(into, best.map((label) => out[label]), best.map(share)));
}

/** Short signs of labels: their own where all have one or are short, else their initials, else their numbers. */
function signsOf(labels) {
  const initials = labels.map((label) => label.split(/\s+/).map((word) => [...word][0] ?? "").join(""));
  const short = [labels.map((label) => SIGNS[label] ?? ""), labels.map((label) => legible(label)), initials].find((signs) =>
    new Set(signs).size === labels.length && signs.every((sign) => sign && [...sign].length <= 2));
  return short ?? labels.map((_, number) => String(number + 1));
}

/** Where a phrase stands between the first label, 0, and the last, 1: the mean by probability. */
function placeOf(labels, share) {
  const total = labels.reduce((sum, _, label) => sum + share(label), 0);
  return total ? labels.reduce((sum, _, label) => sum + (label / (labels.length - 1)) * share(label), 0) / total : 0.5;
}

/** Gives `node` the colour of a place on the scale. */
function colour(node, place) {
  const far = Math.abs(2 * place - 1);
  node.classList.add("scaled", place < 0.5 ? "first" : "last");
  node.classList.toggle("deep", far > DEEP);
  node.style.setProperty("--far", far);
  return node;
}

// Where everything stands

/** `above` is the middle of what is said of the whole: over the root, or as near as the edges allow. */
function layOut(words, nodes, said) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  const widths = words.map((word) => Math.max(pen.measureText(word).width, APART - SPACE));
  const { centres, end, below, leaning } = stand(widths);
  const half = EDGE + pen.measureText(said).width / 2;
  const width = Math.ceil(Math.max(end + EDGE, 2 * half));
  const xs = nodes.map(({ first }) => centres[first]);
  for (const [number, { children }] of [...nodes.entries()].reverse())
    if (children.length) xs[number] = (xs[children[0]] + xs[children[1]]) / 2;
  const high = Math.min(LEVEL, Math.max(TIGHTEST, TALL / nodes[0].level));
  const base = EDGE + WORD + high * nodes[0].level;
  const ys = nodes.map(({ level }) => base - high * level);
  return { words, widths, leaning, xs, ys, width, height: Math.ceil(base + RADIUS + below), above: Math.min(Math.max(xs[0], half), width - half) };
}

/** Words side by side where there is room, else leaning, each with its end below its node. */
function stand(widths) {
  const centres = [];
  widths.forEach((width, word) => centres.push(word ? centres[word - 1] + (widths[word - 1] + width) / 2 + SPACE : EDGE + width / 2));
  const end = centres.at(-1) + widths.at(-1) / 2;
  if (end <= ROOM) return { centres, end, below: WORD, leaning: false };
  const [across, down] = [Math.cos, Math.sin].map((share) => share((LEAN * Math.PI) / 180));
  const first = EDGE + Math.max(RADIUS, ...widths.map((width, word) => width * across - APART * word));
  const leaning = widths.map((_, word) => first + APART * word);
  return { centres: leaning, end: leaning.at(-1) + RADIUS, below: WORD + Math.max(...widths) * down, leaning: true };
}

// What is drawn

function group({ words, widths, leaning, xs, ys }, { first, children }, number, sign, place) {
  const [x, y] = [xs[number], ys[number]];
  const disc = colour(drawn("g", {}, drawn("circle", { cx: x, cy: y, r: RADIUS }), drawn("text", { class: "sign", x, y }, sign)), place);
  if (children.length) return drawn("g", { class: "node" }, disc);
  const [wide, tall] = [widths[first] + SPACE / 2, leaning ? SIZE + 4 : WORD];
  const turn = leaning ? `translate(${x} ${y + RADIUS + SIZE / 2}) rotate(-${LEAN})` : `translate(${x} ${y + RADIUS + WORD / 2})`;
  const word = drawn("g", { class: leaning ? "leaf-word leaning" : "leaf-word", transform: turn },
    drawn("rect", { x: leaning ? -wide : -wide / 2, y: -tall / 2, width: wide, height: tall }), drawn("text", {}, words[first]));
  return drawn("g", { class: "node" }, word, disc);
}

function line({ xs, ys }, node, child) {
  const [x, y, end, bottom] = [xs[node], ys[node], xs[child], ys[child]];
  const side = Math.sign(end - x);
  const corner = Math.min(CORNER, Math.abs(end - x));
  return drawn("path", { "data-parent": node, d: `M${x},${y}H${end - side * corner}Q${end},${y} ${end},${y + corner}V${bottom}` });
}

/** The labels with their signs and colours. */
function scale(labels, signs) {
  const items = labels.map((label, number) =>
    element("span", {}, colour(element("span", { class: "disc", "aria-hidden": true }, signs[number]), number / (labels.length - 1)), legible(label)));
  return element("p", { class: "legend scale quiet" }, ...items);
}

function spoken(into, labels, shares) {
  const head = ["phrase", "label", "probability"].map((name) => element("th", { scope: "col" }, name));
  const rows = into.map((phrase, place) =>
    element("tr", {}, element("th", { scope: "row" }, legible(phrase, Infinity)),
      element("td", {}, labels[place]), element("td", {}, weightOf(shares[place]))),
  );
  return element("div", { class: "unseen" }, element("table", {}, element("caption", {}, "The label of each phrase"),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}
