// The alignment map: symbols of the text along the top, of the answer down the side, a tile for each weight.
// Three drawings in a box that scrolls, so that the symbols stay in sight beside the tiles.

import { drawn, element, set, shade } from "../dom.js";
import { legible } from "../words.js";

const GAP = 8; // between the tiles and their labels
const TALLEST = 40; // of a tile, in pixels
const WIDEST = 64;
const SMALLEST = 24; // below this the box scrolls
const FAINT = 0.05; // weights below it are not printed

export function map(look, pointed, name = "Alignment map") {
  const into = look.into.map((symbol, column) => label(symbol, { "data-column": column }));
  const out = look.out.map((symbol, row) => label(symbol, { "data-row": row }));
  const tiles = look.weights.map((weights, row) => weights.map((weight, column) => tile(weight, look.top, row, column)));
  const numbers = tiles.flat().filter(({ number }) => number).map(({ number }) => number);
  const bands = [drawn("rect"), drawn("rect")];
  const top = drawn("svg", { class: "top", "aria-hidden": true }, ...into);
  const side = drawn("svg", { class: "side", "aria-hidden": true }, ...out);
  const cells = drawn("svg", { class: "cells", "aria-hidden": true }, ...tiles.flat().map(({ cell }) => cell), ...numbers, ...bands);
  const box = element(
    "div",
    {
      class: "map",
      tabindex: 0,
      role: "application",
      "aria-label": `${name}${look.of && ` of ${look.of}`}, ${look.out.length} by ${look.into.length}. Arrow keys move over it.`,
    },
    element("div", { class: "corner" }), top, side, cells,
  );
  const frame = element("div", { class: "frame" }, box);
  let plan = { width: 0, height: 0 };

  new ResizeObserver(([{ contentRect }]) => {
    plan = layOut(look, contentRect.width);
    place(plan, { into, out, tiles, top, side, cells });
    box.style.scrollPadding = `${plan.above}px ${plan.width}px ${plan.height}px ${plan.left}px`; // beside the labels
    mark();
    tellOfMore();
  }).observe(frame);

  /** A sign at the edge beyond which the map goes on. */
  function tellOfMore() {
    const [right, bottom] = [plan.left + plan.width * into.length, plan.above + plan.height * out.length];
    frame.classList.toggle("right", box.scrollLeft + box.clientWidth < right - 2);
    frame.classList.toggle("down", box.scrollTop + box.clientHeight < bottom - 2);
  }
  box.addEventListener("scroll", tellOfMore, { passive: true });

  function mark() {
    const { row, column } = pointed;
    const [across, down] = bands;
    out.forEach((node, index) => node.classList.toggle("pointed", index === row));
    into.forEach((node, index) => node.classList.toggle("pointed", index === column));
    const [width, height] = [plan.width * into.length - 2, plan.height * out.length - 2];
    set(across, { x: 1, y: row * plan.height + 1, width, height: plan.height - 2, class: row < 0 ? "none" : "band" });
    set(down, { x: column * plan.width + 1, y: 1, width: plan.width - 2, height, class: column < 0 ? "none" : "band" });
  }
  pointed.addEventListener("change", mark);

  const point = ({ target: { dataset } }) => {
    if (dataset.row || dataset.column) pointed.at(Number(dataset.row ?? -1), Number(dataset.column ?? -1));
  };
  for (const event of ["pointermove", "pointerdown"]) box.addEventListener(event, point);
  box.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && pointed.at(-1, -1));
  box.addEventListener("blur", () => pointed.at(-1, -1));
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const next = step(event.key, pointed, out.length - 1, into.length - 1);
    if (!next) return;
    event.preventDefault();
    pointed.at(...next);
    const target = tiles[Math.max(0, next[0])][Math.max(0, next[1])].cell;
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  return frame;
}

/** Where a key leads: over the tiles, and one step beyond the first to the symbol of a whole row or column. */
function step(key, { row, column }, lastRow, lastColumn) {
  if (row < 0 && column < 0) return key.startsWith("Arrow") || key === "Home" ? [0, 0] : null;
  const moves = {
    ArrowUp: [Math.max(column < 0 ? 0 : -1, row - 1), column],
    ArrowDown: [Math.min(lastRow, row + 1), column],
    ArrowLeft: [row, Math.max(row < 0 ? 0 : -1, column - 1)],
    ArrowRight: [row, Math.min(lastColumn, column + 1)],
    Home: [row, 0],
    End: [row, lastColumn],
    Escape: [-1, -1],
  };
  return moves[key];
}

function label(symbol, data) {
  return drawn("text", data, legible(symbol));
}

function tile(weight, top, row, column) {
  const data = { "data-row": row, "data-column": column };
  const cell = drawn("rect", { ...data, rx: 2 });
  shade(cell, weight / top);
  const number = weight >= FAINT ? drawn("text", { class: cell.classList.contains("deep") ? "deep" : "" }, weight.toFixed(2)) : null;
  return { cell, number };
}

/** Measures for a frame so many pixels wide. Symbols on top lie flat where they fit and lean where they do not. */
function layOut(look, room) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `14px ${getComputedStyle(document.body).fontFamily}`;
  const widest = (symbols) => Math.max(...symbols.map((symbol) => pen.measureText(legible(symbol)).width));
  const [into, out] = [widest(look.into), widest(look.out)];
  const left = Math.ceil(out + 2 * GAP);
  const fit = (room - left - 4) / look.into.length;
  const leaning = into + 6 > Math.max(SMALLEST, Math.min(fit, 2 * WIDEST));
  const width = Math.floor(Math.max(SMALLEST, Math.min(fit, Math.max(WIDEST, leaning ? 0 : into + 6))));
  const lean = leaning ? into * Math.SQRT1_2 : 0;
  const height = Math.min(width, TALLEST);
  return { left, width, height, leaning, above: Math.ceil(lean + 24), over: Math.ceil(lean) };
}

function place({ left, width, height, leaning, above, over }, { into, out, tiles, top, side, cells }) {
  set(top, { width: width * into.length + over, height: above });
  set(side, { width: left, height: height * out.length });
  set(cells, { width: width * into.length + over, height: height * out.length });
  into.forEach((node, column) => {
    const x = (column + 0.5) * width;
    const y = above - GAP;
    const transform = leaning && `rotate(-45 ${x} ${y})`;
    set(node, { x, y, transform, "text-anchor": leaning ? "start" : "middle" });
  });
  out.forEach((node, row) => set(node, { x: left - GAP, y: (row + 0.5) * height, "text-anchor": "end" }));
  tiles.forEach((row, i) =>
    row.forEach(({ cell, number }, j) => {
      set(cell, { x: j * width + 1, y: i * height + 1, width: width - 2, height: height - 2 });
      if (number) set(number, { x: (j + 0.5) * width, y: (i + 0.5) * height, visibility: width < 36 ? "hidden" : "visible" });
    }),
  );
}
