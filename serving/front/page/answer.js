// One answer: what was said, how sure the model is, its other ideas, and the views that fit.

import { element } from "./dom.js";
import { draw } from "./views/index.js";
import { probability } from "./words.js";

const SAID = ["text", "score", "alternatives", "alternative_scores"];

/** Elements for the outputs of one row: `spoken`, which a screen reader says at once, and `details`. */
export function answer(outputs, asked, milliseconds, rankedBy) {
  const text = outputs.text?.[0];
  const score = outputs.score?.[0];
  const facts = [`${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms there and back`];
  const spoken = [];
  if (typeof text === "string") {
    const none = !text && !(score > -Infinity);
    if (!none && typeof score === "number") facts.unshift(score > 0 ? `score ${score}` : `probability ${probability(score)}`);
    const words = text || (none ? `The model gave no answer: ${reason(asked)}.` : "The answer is an empty text.");
    spoken.push(element("p", { class: text ? "said" : "said quiet", dir: "auto" }, words));
  }
  spoken.push(element("p", { class: "facts quiet" }, facts.join(" \u00b7 ")));
  const said = typeof text === "string" ? SAID.filter((name) => name in outputs) : [];
  return { spoken, details: [...best(outputs, rankedBy), ...draw(outputs, 0, asked, said)] };
}

/** Why a score is minus infinity: nothing was read, or nothing could be said within the limits. */
function reason(asked) {
  const texts = Object.values(asked).filter((value) => typeof value === "string");
  if (texts.some((text) => !text.trim())) return "there is nothing to read";
  return texts.length ? "it can read nothing of this, or say nothing of it within its limits" : "it finds nothing to say of this";
}

/** The best answers with bars, where there is more than one, and what ranks them. */
function best(outputs, rankedBy) {
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
    return element("tr", {}, ...[text, probability(score), bar].map((part) => element("td", { dir: "auto" }, part)));
  });
  const order = rankedBy ? element("span", { class: "order quiet" }, ` ranked by ${rankedBy}`) : "";
  return [
    element("table", { class: "best" }, element("caption", {}, `The ${all.length} best answers`, order),
      element("thead", {}, element("tr", {}, ...head, element("td"))), element("tbody", {}, ...rows)),
  ];
}
