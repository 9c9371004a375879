// Symbols of LaTeX as a formula that the browser sets: MathML. They are those of the recipe `image_to_latex`; arguments are in braces.

import { mathml } from "./dom.js";

const named = (names) => new Map(Object.entries(names).map(([name, sign]) => [`\\${name}`, sign]));
const LETTERS = named({
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", theta: "θ", lambda: "λ", mu: "μ", pi: "π", sigma: "σ", phi: "ϕ", omega: "ω",
  infty: "∞", partial: "∂",
});
const FUNCTIONS = named({ sin: "sin", cos: "cos", log: "log" });
const SIGNS = named({ leq: "≤", geq: "≥", in: "∈", to: "→", times: "×", cdot: "⋅", pm: "±" }).set("-", "−");
const LARGE = named({ sum: "∑", prod: "∏", int: "∫" });
const STACKED = ["\\sum", "\\prod"]; // scripts stand below and above them
const BESIDE = { _: "msub", "^": "msup", "_^": "msubsup" };
const ABOVE = { _: "munder", "^": "mover", "_^": "munderover" };

const COMMAND = /^\\/;
const SCRIPT = /^[_^]$/;
const DIGITS = /^\d+$/;
const LETTER = /^\p{L}$/u;
const SIGN = /^[^\\{}_^#$%&~\s\p{C}\u2581]$/u; // not what means something else in LaTeX, nor a space

/** A formula named by its LaTeX; null where the symbols are none, or plain text as far as one can tell. */
export function formula(tokens) {
  const marked = (token, place) => COMMAND.test(token) || (SCRIPT.test(token) && tokens[place + 1] === "{");
  const left = [...tokens];
  const nodes = tokens.some(marked) ? row(left) : null;
  return nodes && !left.length ? mathml("math", { display: "block", "aria-label": tokens.join(" ") }, ...nodes) : null;
}

// Each takes from the beginning of the symbols that are left what makes it up; null where that is not there.

function row(left) {
  const nodes = [];
  while (left.length && left[0] !== "}") nodes.push(scripted(left));
  return nodes.every(Boolean) ? spaced(nodes) : null;
}

function group(left) {
  if (left.shift() !== "{") return null;
  const nodes = row(left);
  return nodes && left.shift() === "}" ? mathml("mrow", {}, ...nodes) : null;
}

/** A part with what stands below and above it, in either order. */
function scripted(left) {
  const tags = STACKED.includes(left[0]) ? ABOVE : BESIDE;
  const parts = { base: part(left) };
  while (SCRIPT.test(left[0])) {
    const mark = left.shift();
    parts[mark] = mark in parts ? null : group(left);
  }
  const { base, _: low, "^": high } = parts;
  if (Object.values(parts).includes(null)) return null;
  const tag = tags[(low ? "_" : "") + (high ? "^" : "")];
  return tag ? mathml(tag, {}, ...[base, low, high].filter(Boolean)) : base;
}

function part(left) {
  if (left[0] === "{") return group(left);
  const token = left.shift();
  if (token === "\\frac") return holding("mfrac", group(left), group(left));
  if (token === "\\sqrt") return holding("msqrt", group(left));
  if (DIGITS.test(token)) return mathml("mn", {}, token + left.splice(0, countOf(left, DIGITS)).join(""));
  if (FUNCTIONS.has(token)) return mathml("mi", { mathvariant: "normal" }, FUNCTIONS.get(token));
  if (LARGE.has(token)) return mathml("mo", {}, LARGE.get(token));
  if (LETTERS.has(token) || LETTER.test(token)) return mathml("mi", {}, LETTERS.get(token) ?? token);
  if (SIGNS.has(token) || SIGN.test(token)) return mathml("mo", { stretchy: "false" }, SIGNS.get(token) ?? token);
  return null;
}

const holding = (tag, ...groups) => (groups.every(Boolean) ? mathml(tag, {}, ...groups) : null);

/** How many at the beginning are of a kind. */
function countOf(tokens, kind) {
  const other = tokens.findIndex((token) => !kind.test(token));
  return other < 0 ? tokens.length : other;
}

/** Thin spaces around functions; signs have their own. */
function spaced(nodes) {
  const isFunction = (node) => [node, node.firstChild].some((each) => each?.localName === "mi" && each.hasAttribute("mathvariant"));
  const apart = (one, other) => [one, other].some(isFunction) && ![one, other].some((node) => node.localName === "mo");
  return nodes.flatMap((node, place) =>
    place && apart(nodes[place - 1], node) ? [mathml("mspace", { width: "0.17em" }), node] : [node]);
}
