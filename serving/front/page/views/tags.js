// Words with their tags, the words of a segment (B-NP I-NP) together; point at one to see what else was probable.

import { element } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { inOrder, named, outputsOf, read } from "./looks.js";
import { map } from "./map.js";
import { Pointed, walk } from "./pointed.js";
import { ranked } from "./ranked.js";
import { tone } from "./tones.js";

const NEAR = 0.01; // how far from 1 probabilities may add up
const SURE = 0.9; // below it the probability of a tag is written
const UNREAD = "_"; // said of a word that was not read
const BIO = /^([BIESLU])-(.+)$/;

export const tags = {
  shows: (outputs, row) => found(outputs, row, {}).flatMap(({ name }) => [...outputsOf(name), "tokens"]),
  draw: (outputs, row, asked) => found(outputs, row, asked).map(figure),
};

/** The looks of which the rows are all tags there are, and the tokens one for each place. */
function found(outputs, row, asked) {
  const looks = inOrder(named(outputs, false), asked).map((name) => read(outputs, name, row, asked));
  return looks.filter((look) => {
    const { tokens, into, out, said } = look;
    const fits = tokens.length > 0 && tokens.length === into.length && tokens.every((tag) => tag === UNREAD || out.includes(tag));
    return fits && (!said || areTags(look));
  });
}

/** Whether tokens that are the rows are tags of the places: the weights of each place add up to 1, not those of each row. */
function areTags({ into, out, weights }) {
  const share = (row, column) => weights[row]?.[column] ?? 0;
  const whole = (shares) => Math.abs(shares.reduce((sum, each) => sum + each, 0) - 1) < NEAR;
  const ofPlaces = into.every((_, column) => whole(out.map((_, row) => share(row, column))));
  return ofPlaces && !out.every((_, row) => whole(into.map((_, column) => share(row, column))));
}

function figure(look) {
  const { into, out, tokens, weights } = look;
  const share = (tag, column) => (tag === UNREAD ? 1 : (weights[out.indexOf(tag)]?.[column] ?? 0));
  const shares = tokens.map(share);
  const parts = segments(tokens);
  const pointed = new Pointed();
  const words = into.map((word) => element("span", { class: "word" }, legible(word)));
  const text = element("div", { class: "tagged", "aria-hidden": true, dir: "auto" },
    ...parts.map((part) => segment(part, words, Math.min(...shares.slice(part.first, part.last + 1)))));
  const box = element("div", { class: "words", tabindex: 0, role: "application",
    "aria-label": `${into.length} words with their tags. Arrow keys move over them.` }, text);
  walk(box, words, pointed);
  const each = tokens.map((tag, column) => [element("span", {}, `${legible(into[column])} `, coloured(tag)), shares[column]]);
  const { node, tell } = ranked("Point at a word, or move over the words with the arrow keys, to see how probable its tags are.", each);
  pointed.addEventListener("change", () => {
    const { column } = pointed;
    if (column < 0) tell();
    else tell(element("p", {}, element("b", { dir: "auto" }, legible(into[column])), " is"), out.map((tag) => [coloured(tag), share(tag, column)]));
  });
  const caption = parts.length < tokens.length ? "Segments" : "The tag of each word";
  return element("figure", { class: "alignment" }, element("figcaption", {}, caption), framed(box), node,
    everything(look, pointed), spoken(into, tokens, shares));
}

/** Segments of BIO or BIOES tags; other tags are one by one. */
function segments(tokens) {
  const parts = tokens.map((tag) => tag.match(BIO));
  const whole = parts.every((part, place) => part || ["O", UNREAD].includes(tokens[place]));
  const all = [];
  let goesOn = "";
  tokens.forEach((tag, place) => {
    const [, kind, label] = (whole && parts[place]) || ["", "", tag];
    if (["I", "E", "L"].includes(kind) && label === goesOn) all.at(-1).last = place;
    else all.push({ first: place, last: place, label });
    goesOn = ["B", "I"].includes(kind) ? label : "";
  });
  return all;
}

function segment({ first, last, label }, words, share) {
  const sure = share >= SURE;
  const name = sure && ["O", UNREAD].includes(label) ? "" : legible(label);
  const node = element("span", { class: sure ? "segment" : "segment unsure" },
    element("span", { class: "inside" }, ...words.slice(first, last + 1)),
    element("span", { class: "tag" }, sure ? name : `${name} ${share.toFixed(2)}`));
  tone(node, label);
  node.style.setProperty("--share", share);
  return node;
}

function coloured(tag) {
  const node = element("span", { class: "tag" }, legible(tag));
  tone(node, tag.match(BIO)?.[2] ?? tag);
  return node;
}

/** The map of all probabilities, drawn when it is opened. */
function everything(look, pointed) {
  const node = element("details", {}, element("summary", {}, "All probabilities"));
  const full = look.out.map((_, i) => look.into.map((_, j) => look.weights[i]?.[j] ?? 0));
  const drawn = () => map({ ...look, weights: full, top: 1 }, pointed, "Map of tags and words");
  node.addEventListener("toggle", () => node.append(drawn()), { once: true });
  return node;
}

function spoken(into, tokens, shares) {
  const head = ["word", "tag", "probability"].map((name) => element("th", { scope: "col" }, name));
  const rows = into.map((word, place) =>
    element("tr", {}, element("th", { scope: "row" }, legible(word)),
      element("td", {}, tokens[place]), element("td", {}, weightOf(shares[place]))),
  );
  return element("div", { class: "unseen" }, element("table", {}, element("caption", {}, "The tag of each word"),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}
