// Any outputs as tables: lists of one length side by side (tokens and their tags), all else as name and value.

import { element } from "../dom.js";

export const table = {
  fits: () => true,
  draw(outputs, row) {
    const names = Object.entries(outputs).sort(([a], [b]) => b.startsWith("tokens") - a.startsWith("tokens"));
    const values = names.map(([name, value]) => [name, Array.isArray(value) ? value[row] : value]);
    const lists = values.filter(([, value]) => Array.isArray(value) && value.length && !value.some(Array.isArray));
    const lengths = new Set(lists.map(([, value]) => value.length));
    const single = values.filter((pair) => !lists.includes(pair));
    return element(
      "div",
      { class: "tables" },
      ...[...lengths].map((length) => sideBySide(lists.filter(([, value]) => value.length === length))),
      ...(single.length ? [nameAndValue(single)] : []),
    );
  },
};

function sideBySide(lists) {
  const head = lists.map(([name]) => element("th", { scope: "col" }, name));
  const rows = lists[0][1].map((_, index) =>
    element("tr", {}, ...lists.map(([, value]) => element("td", { dir: "auto" }, written(value[index])))),
  );
  return boxed("Outputs side by side", element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
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

function written(value) {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
  return value === undefined ? "" : JSON.stringify(value);
}
