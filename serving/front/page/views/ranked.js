// What is probable about one word, best first, with bars; at rest, the words that are least sure. A screen reader says it.

import { element } from "../dom.js";
import { weightOf } from "../words.js";

const MOST = 5;
const FAINT = 0.0005; // less would be written as 0.000
const SURE = 0.9;

/**
 * A `node`, and `tell(title, pairs)` to fill it: pairs are of a text or an element and a share from 0 to 1.
 * `said` are pairs of each word, with the share of what was said of it; `tell()` shows the least sure of them. There is
 * always room for as many pairs as there may be.
 */
export function ranked(hint, said, count = MOST) {
  const node = element("div", { class: "ranked", role: "status" });
  node.style.setProperty("--most", Math.min(MOST, count));
  const unsure = said.filter(([, share]) => share < SURE).sort(([, a], [, b]) => a - b).slice(0, MOST);
  const rest = element("p", { class: "quiet" }, unsure.length ? `${hint} The least certain:` : hint);
  function tell(title, pairs = []) {
    const best = pairs.filter(([, share]) => share >= FAINT).sort(([, a], [, b]) => b - a).slice(0, MOST);
    node.replaceChildren(title ?? rest, element("ol", {}, ...(title ? best : unsure).map(bar)));
  }
  tell();
  return { node, tell };
}

function bar([name, share]) {
  const line = element("span", { class: "bar", "aria-hidden": true });
  line.style.setProperty("--share", share);
  return element("li", {}, element("bdi", {}, name), " ", element("span", {}, weightOf(share)), element("span", {}, line));
}
