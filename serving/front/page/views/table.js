// Any outputs as tables: lists of one length side by side (tokens and their tags), a matrix as a table of its own, all
// else as name and value.

import { element } from "../dom.js";

const isList = (value) => Array.isArray(value) && value.length > 0 && !value.some(Array.isArray);
const isMatrix = (value) => Array.isArray(value) && value.length > 0 && value.every(isList);

export const table = {
  draw(outputs, row) {
    const names = Object.entries(outputs).sort(([a], [b]) => b.startsWith("tokens") - a.startsWith("tokens"));
    const values = names.map(([name, value]) => [name, Array.isArray(value) ? value[row] : value]);
    const lists = values.filter(([, value]) => isList(value));
    const matrices = values.filter(([, value]) => isMatrix(value));
    const lengths = new Set(lists.map(([, value]) => value.length));
    const single = values.filter((pair) => !lists.includes(pair) && !matrices.includes(pair));
    return [
      ...[...lengths].map((length) => sideBySide(lists.filter(([, value]) => value.length === length))),
      ...matrices.map(([name, value]) => matrix(name, value)),
      ...(single.length ? [nameAndValue(single)] : []),
    ];
  },
};

function sideBySide(lists) {
  const head = lists.map(([name]) => element("th", { scope: "col" }, name));
  const rows = lists[0][1].map((_, index) =>
    element("tr", {}, ...lists.map(([, value]) => element("td", { dir: "auto" }, written(value[index])))),
  );
  return boxed("Outputs side by side", element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

function matrix(name, value) {
  const widest = value.reduce((longest, line) => (line.length > longest.length ? line : longest));
  const head = [name, ...widest.keys()].map((place) => element("th", { scope: "col" }, String(place)));
  const rows = value.map((line, index) =>
    element("tr", {}, element("th", { scope: "row" }, String(index)),
      ...line.map((each) => element("td", { dir: "auto" }, written(each, 3)))),
  );
  const node = boxed(`Output ${name}`, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  node.classList.add("matrix");
  return node;
}

function nameAndValue(pairs) {
  const rows = pairs.map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", { dir: "auto" }, written(value))),
  );
  return boxed("Outputs", element("tbody", {}, ...rows));
}

function boxed(caption, ...parts) {
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, element("caption", { class: "unseen" }, caption), ...parts));
}

function written(value, digits = 6) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(Number.isInteger(value) ? value : Number(value.toPrecision(digits)));
  return value === undefined ? "" : JSON.stringify(value);
}
