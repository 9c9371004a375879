// The looks among the outputs: NAME_attention with NAME_queries, and NAME_keys unless it is over a grid.

const ENDS = ["_attention", "_queries", "_keys"];

/** The names of the looks, over a grid or not. */
export function named(outputs, grid) {
  const names = Object.keys(outputs).filter((name) => name.endsWith(ENDS[0])).map((name) => name.slice(0, -ENDS[0].length));
  return names.filter((name) => {
    const [weights, rows, places] = ENDS.map((end) => outputs[name + end]?.[0]);
    const depth = Array.isArray(weights?.[0]?.[0]) ? 3 : 2;
    if (!Array.isArray(weights) || !Array.isArray(rows)) return false;
    return grid ? places === undefined && (depth === 3 || !weights.length) : Array.isArray(places) && depth === 2;
  });
}

/** The names of the outputs that make up a look. */
export const outputsOf = (name) => ENDS.map((end) => name + end);

/** One row of a look without its padding. `of` names what was looked at where that needs saying, else it is "". */
export function read(outputs, name, row, asked) {
  const [weights, rows, places] = ENDS.map((end) => outputs[name + end]?.[row]);
  const looks = Object.keys(outputs).filter((other) => other.endsWith(ENDS[0]));
  const out = trimmed(rows);
  const tokens = trimmed(outputs.tokens?.[row] ?? rows);
  return {
    name,
    weights,
    out,
    tokens,
    into: trimmed(places ?? []),
    said: tokens.join("\n") === out.join("\n"), // what looked is the answer itself
    of: looks.length > 1 || Object.keys(asked).length > 1 ? name : "",
  };
}

export const title = ({ of }) => (of ? `Attention over ${of}` : "Attention");

/** In the order in which the inputs were asked for: each with the looks within it. */
export function inOrder(names, asked) {
  const inputs = Object.keys(asked);
  const place = (name) => (inputs.includes(inputOf(name, asked)) ? inputs.indexOf(inputOf(name, asked)) : inputs.length);
  return [...names].sort((a, b) => place(a) - place(b));
}

/** The input that a look is at, or is within (`INPUT_LEVEL`); its own name where there is none. */
export function inputOf(name, asked) {
  const inputs = Object.keys(asked);
  return inputs.includes(name) ? name : (inputs.find((input) => name.startsWith(`${input}_`)) ?? name);
}

export function trimmed(symbols) {
  return symbols.slice(0, symbols.findLastIndex((symbol) => symbol !== "") + 1);
}
