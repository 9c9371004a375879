// The text and the answer as running symbols: point at one, and what it looked at, or was looked at by, lights up.

import { element, shade, unshade } from "../dom.js";
import { legible, plain, running } from "../words.js";

export function highlight(look, pointed) {
  const tight = [running(look.into), look.text === look.out.map(plain).join("").trim()];
  const into = symbols(look.into, tight[0], (column) => pointed.at(-1, column));
  const out = symbols(look.out, tight[1], (row) => pointed.at(row, -1));
  const share = (row, column) => look.weights[row][column] / look.top;
  pointed.addEventListener("change", () => {
    const { row, column } = pointed;
    into.forEach((node, index) => paint(node, row < 0 ? 0 : share(row, index), index === column));
    out.forEach((node, index) => paint(node, row >= 0 || column < 0 ? 0 : share(index, column), index === row));
  });
  const lines = element("div", { class: "lines", "aria-hidden": true },
    element("span", { class: "quiet" }, "input"), line(into, "into", tight[0]),
    element("span", { class: "quiet" }, look.said ? "answer" : "query"), line(out, "out", tight[1]));
  lines.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && pointed.at(-1, -1));
  return lines;
}

function line(nodes, side, tight) {
  return element("span", { class: `line ${side}${tight ? " tight" : ""}`, dir: "auto" }, ...nodes.flatMap((node) => (tight ? [node] : [node, element("wbr")])));
}

function symbols(tokens, tight, point) {
  return tokens.map((token, index) => {
    const node = element("span", { class: "symbol", title: legible(token) }, tight ? plain(token) : legible(token, Infinity));
    node.addEventListener("pointerenter", () => point(index));
    return node;
  });
}

function paint(node, share, pointed) {
  node.classList.toggle("pointed", pointed);
  if (share > 0.02) shade(node, share);
  else unshade(node);
}
