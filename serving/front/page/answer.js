// One answer: what was said, how sure the model is, its other ideas, and the views that fit.

import { element, showFile } from "./dom.js";
import { formula } from "./formula.js";
import { framed } from "./views/frame.js";
import { draw, tells } from "./views/index.js";
import { trimmed } from "./views/looks.js";
import { probability } from "./words.js";

const SHOWN = 6; // the best answer and five others; more of them on demand
const SAID = ["text", "score", "alternatives", "alternative_scores"];

/**
 * Elements for the outputs of one row: `spoken`, which a screen reader says at once, and `details`. `scoreMeaning` says
 * what orders the best; `canvases` has the height and width to which the picture of an input is padded, where it is.
 */
export function answer(outputs, asked, milliseconds, { scoreMeaning, canvases }) {
  const text = outputs.text?.[0];
  const score = outputs.score?.[0];
  const facts = [`${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms round trip`];
  const told = tells(outputs, 0, asked); // a view shows it better
  const tokens = outputs.tokens?.[0];
  const found = Array.isArray(tokens) && typeof text === "string" ? formula(trimmed(tokens)) : null;
  const spoken = [];
  if (typeof text === "string") {
    const none = !text && !(score > -Infinity);
    if (!none && typeof score === "number") facts.unshift(score > 0 ? `score ${score}` : `probability ${probability(score)}`);
    const words = text || (none ? `The model gave no answer: ${reason(asked)}.` : "The answer is empty.");
    spoken.push(element("p", { class: !text ? "said quiet" : told || found ? "said small" : "said", dir: "auto" }, words));
  }
  spoken.push(element("p", { class: "facts quiet" }, facts.join(" \u00b7 ")));
  const said = typeof text === "string" ? SAID.filter((name) => name in outputs) : [];
  const [others, views] = [best(outputs, scoreMeaning, told), draw(outputs, 0, asked, { said, canvases })];
  const set = found ? [beside(found, asked)] : []; // not spoken: its name is the text
  return { spoken, details: [...set, ...(told ? [...views, ...others] : [...others, ...views])] };
}

/** The formula beside the picture that it was read from, where there is one. */
function beside(math, asked) {
  const box = element("div", { class: "formula", tabindex: 0, role: "region", "aria-label": "The answer as a formula" }, math);
  const node = element("div", { class: "beside" }, captioned("answer", framed(box)));
  const picture = Object.values(asked).find((value) => value instanceof Blob && value.type.startsWith("image/"));
  if (picture) {
    const image = element("img", { alt: "" });
    const figure = captioned("input", image);
    node.prepend(figure);
    showFile([image], picture).then((shown) => shown || figure.remove());
  }
  return node;
}

const captioned = (caption, node) => element("figure", {}, element("figcaption", { class: "quiet" }, caption), node);

/** Why a score is minus infinity: nothing was read, or nothing could be said within the limits. */
function reason(asked) {
  const texts = Object.values(asked).filter((value) => typeof value === "string");
  if (texts.some((text) => !text.trim())) return "the input is empty";
  return texts.length ? "the model cannot read this input, or has no answer within its limits" : "the model has no answer for this input";
}

/** The best answers with bars, where there is more than one, and what ranks them; folded where a view tells the first. */
function best(outputs, scoreMeaning, told) {
  const scores = outputs.alternative_scores?.[0] ?? [];
  const others = (outputs.alternatives?.[0] ?? []).map((other, index) => [other, scores[index]]);
  const real = others.filter(([, score]) => score > -Infinity); // a place that no answer fills has a score of -Infinity
  if (!real.length || !(outputs.score?.[0] > -Infinity)) return [];
  const all = [[outputs.text[0], outputs.score[0]], ...real];
  const top = Math.max(...all.map(([, score]) => score));
  const head = ["Answer", "Probability"].map((name) => element("th", { scope: "col" }, name));
  const rows = all.map(([text, score]) => {
    const bar = element("span", { class: "bar", "aria-hidden": true });
    bar.style.setProperty("--share", Math.exp(score - top));
    const words = told ? compared(text, outputs.text[0]) : [text];
    return element("tr", {}, ...[words, [probability(score)], [bar]].map((parts) => element("td", { dir: "auto" }, ...parts)));
  });
  const order = scoreMeaning ? element("span", { class: "order quiet" }, ` ranked by ${scoreMeaning}`) : "";
  const table = element("table", { class: told ? "best told" : "best" }, element("caption", {}, `The ${all.length} best answers`, order),
    element("thead", {}, element("tr", {}, ...head, element("td"))), element("tbody", {}, ...rows));
  const more = rest(rows.slice(SHOWN));
  if (more) table.append(more);
  return told ? [element("details", {}, element("summary", {}, "Other answers"), table)] : [table];
}

/** Rows that are hidden until they are asked for, and the button that does; null where there are none. */
function rest(rows) {
  if (!rows.length) return null;
  for (const row of rows) row.hidden = true;
  const button = element("button", { type: "button", class: "more" }, `Show ${rows.length} more`);
  const foot = element("tfoot", {}, element("tr", {}, element("td", { colspan: 3 }, button)));
  button.addEventListener("click", () => {
    for (const row of rows) row.hidden = false;
    foot.remove();
    rows[0].tabIndex = -1;
    rows[0].focus(); // where the keyboard was has gone
  });
  return foot;
}

/** A text in which the words stand out that another text does not have at their place. */
function compared(text, other) {
  const [words, others] = [text.split(" "), other.split(" ")];
  return words.flatMap((word, place) => [place ? " " : "", word === others[place] ? word : element("mark", {}, word)]);
}
