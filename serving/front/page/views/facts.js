// A story as it was read: its facts with their weights under each look, and a path through those that were chosen.

import { drawn, element, shade } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { legend } from "./legend.js";
import { inOrder, named, outputsOf, read } from "./looks.js";
import { Pointed, walk } from "./pointed.js";

const LINES = "_lines"; // what the look over the lines of a text ends in
const FACTS = "facts"; // the output with the number of the line that each look chose, from 1; 0 for none
const FEW = 20; // facts of a story that is shown whole
const NEAR = 1; // facts before and after a chosen one
const LEAST = 0.05; // the weight from which on others are shown
const MOST = 30; // of these
const FAINT = 0.005; // below it a weight is not printed

export const facts = {
  shows: (outputs, row) => found(outputs, row, {}).flatMap(({ name }) => [...outputsOf(name), FACTS]),
  draw: (outputs, row, asked) => found(outputs, row, asked).filter(({ chosen }) => chosen.some(Boolean)).map(figure),
};

/** The looks over lines, with a number of a line for each look. */
function found(outputs, row, asked) {
  const chosen = outputs[FACTS]?.[row];
  if (!Array.isArray(chosen) || !chosen.length) return [];
  const looks = inOrder(named(outputs, false), asked).map((name) => read(outputs, name, row, asked));
  const fits = (number, { into }) => Number.isInteger(number) && 0 <= number && number <= into.length;
  return looks.map((look) => ({ ...look, chosen })).filter((look) =>
    look.name.endsWith(LINES) && chosen.length === look.out.length && chosen.every((number) => fits(number, look)));
}

function figure({ into, out, weights, chosen }) {
  const all = into.map((fact, place) => ({
    place,
    fact: legible(fact, Infinity),
    weights: out.map((_, look) => weights[look]?.[place] ?? 0),
    looks: [...out.keys()].filter((look) => chosen[look] === place + 1),
  }));
  const shown = shownOf(all);
  const largest = Math.max(...all.flatMap((each) => each.weights));
  const top = Math.ceil(Math.round(largest * 1e4) / 1e3) / 10 || 1;
  const nodes = shown.map((each) => line(each, top));
  const story = element("div", { class: "story", "aria-hidden": true }, heading(out), ...withGaps(shown, nodes, all.length));
  story.style.setProperty("--looks", out.length);
  trace(story, chosen);
  const box = element("div", { class: "words", tabindex: 0, role: "application",
    "aria-label": `${shown.length} facts with their weights. Arrow keys move over them.` }, story);
  const pointed = new Pointed();
  walk(box, nodes, pointed, {
    ArrowUp: (at) => Math.max(0, at - 1),
    ArrowDown: (at) => Math.min(nodes.length - 1, at + 1),
  });
  const reading = element("p", { class: "reading", role: "status" });
  const say = () => reading.replaceChildren(...(pointed.column < 0 ? rest(chosen) : sentence(shown[pointed.column], out)));
  pointed.addEventListener("change", say);
  say();
  return element("figure", { class: "alignment" }, element("figcaption", {}, "Attention over the facts"), framed(box),
    element("div", { class: "below" }, legend(top), reading), ...everything(shown, all, out),
    element("div", { class: "unseen" }, table(shown, out, "Weight of each fact in each hop")));
}

/** All facts of a short story; of a long one those chosen, those beside them, and those with weight. No single one is left out. */
function shownOf(all) {
  if (all.length <= FEW) return all;
  const near = ({ place }) => all.some(({ looks, place: other }) => looks.length && Math.abs(place - other) <= NEAR);
  const most = (each) => Math.max(...each.weights);
  const heavy = all.filter((each) => most(each) >= LEAST).sort((a, b) => most(b) - most(a)).slice(0, MOST);
  const edges = new Set([-1, all.length, ...all.filter((each) => near(each) || heavy.includes(each)).map(({ place }) => place)]);
  return all.filter(({ place }) => edges.has(place) || (edges.has(place - 1) && edges.has(place + 1)));
}

// What is drawn

function heading(out) {
  const names = out.map((name) => element("span", { class: "cell quiet" }, legible(name)));
  return element("div", { class: "fact heading" }, element("span", { class: "hops" }, ...names));
}

function line({ place, fact, weights, looks }, top) {
  const cells = weights.map((weight, look) => {
    const node = element("span", { class: looks.includes(look) ? "cell chosen" : "cell" }, weight >= FAINT ? weight.toFixed(2) : "\u00a0");
    shade(node, weight / top);
    return node;
  });
  return element("div", { class: looks.length ? "fact chosen" : "fact" },
    element("span", { class: "number quiet" }, String(place + 1)), element("span", { class: "marks" }, ...looks.map(mark)),
    element("span", { class: "sentence", dir: "auto" }, fact), element("span", { class: "hops" }, ...cells));
}

function mark(look) {
  const node = element("span", { class: "mark", "data-look": look }, String(look + 1));
  node.style.setProperty("--look", look + 1);
  return node;
}

/** The nodes, and between them how many facts are left out. */
function withGaps(shown, nodes, count) {
  const gap = (size) => (size ? [element("div", { class: "gap quiet" }, `\u2026 ${size} facts`)] : []);
  const before = (at) => shown[at].place - (at ? shown[at - 1].place : -1) - 1;
  return [...nodes.flatMap((node, at) => [...gap(before(at)), node]), ...gap(count - shown.at(-1).place - 1)];
}

/** Draws a line from mark to mark, in the order of the looks, whenever they move. */
function trace(story, chosen) {
  const path = drawn("path");
  story.append(drawn("svg", { class: "trace" }, path));
  const marks = [...chosen.keys()].flatMap((look) => [...story.querySelectorAll(`.mark[data-look="${look}"]`)]);
  new ResizeObserver(() => {
    const { left, top } = story.getBoundingClientRect();
    const at = marks.map((node) => node.getBoundingClientRect()).map((box) => [box.x + box.width / 2 - left, box.y + box.height / 2 - top]);
    const curve = ([x, y], [end, low]) => `C${x},${(y + low) / 2} ${end},${(y + low) / 2} ${end},${low}`;
    path.setAttribute("d", at.map((point, index) => (index ? curve(at[index - 1], point) : `M${point}`)).join(""));
  }).observe(story);
}

// What is said

function rest(chosen) {
  const order = chosen.filter(Boolean).map((number) => `fact ${number}`).join(", then ");
  return [`Chosen: ${order}. Point at a fact, or move over them with the arrow keys.`];
}

function sentence({ place, fact, weights, looks }, out) {
  const told = weights.map((weight, look) => `${legible(out[look])}: ${weightOf(weight)}${looks.includes(look) ? ", chosen" : ""}`);
  return [`${place + 1}. `, element("bdi", {}, fact), ` (${told.join("; ")})`];
}

function table(some, out, caption) {
  const head = ["number", "fact", ...out].map((name) => element("th", { scope: "col" }, legible(name)));
  const rows = some.map(({ place, fact, weights, looks }) =>
    element("tr", {}, element("td", {}, String(place + 1)), element("th", { scope: "row", dir: "auto" }, fact),
      ...weights.map((weight, look) => element("td", {}, `${weightOf(weight)}${looks.includes(look) ? " (chosen)" : ""}`))));
  return element("table", {}, element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

/** A fold with all facts, where some are left out; filled when it is opened. */
function everything(shown, all, out) {
  if (shown.length === all.length) return [];
  const node = element("details", {}, element("summary", {}, `All ${all.length} facts`));
  const whole = () => element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All facts" }, table(all, out, `All ${all.length} facts`));
  node.addEventListener("toggle", () => node.append(whole()), { once: true });
  return [node];
}
