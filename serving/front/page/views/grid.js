// What each symbol looked at in a grid: the picture once for each, dark where it did not look, with an outline where it
// looked most, so that it is seen on any colour; and as a table.

import { drawn, element, shade, showFile } from "../dom.js";
import { legible, weightOf } from "../words.js";
import { legend } from "./legend.js";
import { inOrder, named, outputsOf, read, title } from "./looks.js";
import { Pointed, walk } from "./pointed.js";

const FEW = 2; // looks so few are drawn large
const OUTLINED = 0.6; // of the largest weight of a look: cells that have an outline

export const grid = {
  shows: (outputs) => named(outputs, true).flatMap(outputsOf),
  draw: (outputs, row, asked, canvases) =>
    inOrder(named(outputs, true), asked).map((name) => figure(read(outputs, name, row, asked), asked[name], canvases[name])),
};

function figure(look, picture, canvas) {
  const weights = look.out.map((_, index) => look.weights[index].map((line) => line.map((weight) => weight ?? 0)));
  const largest = weights.flat(2).reduce((most, weight) => Math.max(most, weight), 0);
  if (!largest) return element("p", { class: "quiet" }, nothing(look));
  const top = Number(largest.toPrecision(2));
  const reading = element("p", { class: "reading", role: "status" });
  const images = picture instanceof Blob ? weights.map(() => element("img", { alt: "" })) : [];
  const tiles = weights.map((each, index) => tile(look.out[index], each, top, images[index]));
  const few = tiles.length <= FEW ? " few" : "";
  const label = `Attention maps${look.of && ` over ${look.of}`}, one for each of ${tiles.length}. Arrow keys move over them.`;
  const box = element("div", { class: `tiles${few}`, tabindex: 0, role: "application", "aria-label": label }, ...tiles);
  const node = element("figure", { class: "alignment" }, element("figcaption", {}, title(look)), box,
    element("div", { class: "below" }, legend(top, images.length ? "ramp heat" : "ramp"), reading), table(look, weights));
  follow(box, tiles, reading, weights.map((each, index) => `${legible(look.out[index])} attends most to ${place(most(each), each)}`));
  if (images.length) showFile(images, picture).then((shown) => (shown ? cut(images, canvas) : plain(node, images)));
  return node;
}

function tile(symbol, weights, top, image) {
  const cells = weights.flatMap((line, y) => line.map((weight, x) => {
    const where = place([y, x, weight], weights);
    const cell = drawn("rect", { x, y, width: 1, height: 1, "data-reading": `${legible(symbol)} attends to ${where}` });
    shade(cell, weight / top);
    cell.style.setProperty("--share", weight / top);
    cell.classList.toggle("most", weight > OUTLINED * Math.max(...weights.flat()));
    return cell;
  }));
  const [height, width] = [weights.length, weights[0].length];
  const heat = drawn("svg", { class: "heat", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" }, ...cells);
  return element("div", { class: "tile", "aria-hidden": true },
    element("div", { class: image ? "over picture" : "over" }, ...(image ? [image] : []), heat),
    element("div", { class: "token", dir: "auto" }, legible(symbol)));
}

/** Of the grid over a page, the part that the picture takes: at its top left, as large as it is or as the page allows. */
function cut(images, canvas) {
  if (!canvas) return; // it is stretched over the whole
  const [height, width] = canvas;
  for (const image of images) {
    const share = Math.min(1, height / image.naturalHeight, width / image.naturalWidth);
    const box = image.parentNode.querySelector(".heat").viewBox.baseVal;
    box.width *= (share * image.naturalWidth) / width;
    box.height *= (share * image.naturalHeight) / height;
  }
}

/** A file that the browser cannot show: the heat alone. */
function plain(node, images) {
  for (const image of images) image.parentNode.classList.remove("picture");
  for (const image of images) image.remove();
  node.querySelector(".ramp").classList.remove("heat");
}

/** Tells the weight under the pointer; of a look that the keys have come to, where it is most. */
function follow(box, tiles, reading, looked) {
  const rest = "Point at a position to read its weight, or move over the maps with the arrow keys.";
  const pointed = new Pointed();
  reading.textContent = rest;
  pointed.addEventListener("change", () => (reading.textContent = looked[pointed.column] ?? rest));
  walk(box, tiles, pointed);
  const point = ({ target }) => (reading.textContent = target.dataset.reading ?? reading.textContent);
  for (const event of ["pointermove", "pointerdown"]) box.addEventListener(event, point);
}

function place([y, x, weight], weights) {
  return `row ${y + 1} of ${weights.length}, column ${x + 1} of ${weights[0].length}, with weight ${weightOf(weight)}`;
}

function most(weights) {
  const cells = weights.flatMap((line, y) => line.map((weight, x) => [y, x, weight]));
  return cells.reduce((best, cell) => (cell[2] > best[2] ? cell : best));
}

function table({ out }, weights) {
  const rows = weights.map((each, index) =>
    element("tr", {}, element("th", { scope: "row", dir: "auto" }, legible(out[index])), element("td", {}, place(most(each), each))),
  );
  const head = ["token", "attends most to"].map((name) => element("th", { scope: "col" }, name));
  return element("details", {}, element("summary", {}, "In words"),
    element("table", {}, element("caption", { class: "unseen" }, "The position with the largest weight for each token"),
      element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

function nothing({ out, of }) {
  const what = of || "the picture";
  return out.length ? `This model has no attention over ${what}.` : `The answer is empty, so there is no attention over ${what}.`;
}
