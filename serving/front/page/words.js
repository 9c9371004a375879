// Numbers and symbols as a person reads them.

const LONGEST = 24; // characters of a label

/** A log-probability as a share in a hundred, or as one chance in so many where it is small. */
export function probability(score) {
  const share = Math.exp(score);
  if (share >= 0.1) return `${Math.round(share * 1000) / 10} %`;
  if (share >= 0.001) return `${Number((share * 100).toPrecision(2))} %`;
  return share < 1e-9 ? "less than 1 in a billion" : `1 in ${Number((1 / share).toPrecision(2)).toLocaleString("en")}`;
}

/**
 * What a server refuses, as the field says it in Python. TensorFlow writes `assertion failed: [text: expected at most 6
 * symbols, received] [7]` and where in the graph that was; `files` are the names of inputs that take files.
 */
export function readable(message, files = []) {
  const [, asserted] = message.match(/assertion failed: ((?:\[[^\]]*\]\s*)+)/) ?? [];
  if (asserted) {
    const said = [...asserted.matchAll(/\[([^\]]*)\]/g)].map(([, part]) => part).filter((part) => !part.startsWith("["));
    const [expected, ...received] = said.join(" ").trim().split(/, received:? /);
    const what = received.join(", received ").replace(/^other bytes: (\d+)$/, "$1 bytes of another format");
    return what ? `${expected}. Received: ${what}` : expected;
  }
  const plainly = message.replace(/\s*\[\[\{\{[^]*$/, "").trim();
  if (/ConcatOp : Dimension|Dimension 0 in both shapes|Incompatible shapes|must have the same (first|0th) dim/i.test(plainly)) {
    return `Expected the same number of values for each input. Received: columns of different lengths (${plainly})`;
  }
  if (files.length && /^(Invalid (PNG|JPEG|GIF|BMP)|.*(jpeg|png|gif|bmp) .*(data|header|image))/i.test(plainly)) {
    return `${files.join(", ")}: expected a readable file. Received: a corrupt one (${plainly})`;
  }
  return plainly || message;
}

export const weightOf = (weight) => weight.toFixed(3);

/** A symbol as running text: the mark of a word's beginning is the space it stands for. */
export const plain = (symbol) => symbol.replaceAll("\u2581", " ");

/** A symbol as a label: every character visible, cut where it is very long. */
export function legible(symbol, longest = LONGEST) {
  const text = plain(symbol).replaceAll("\n", "\u21b5").replaceAll("\t", "\u21e5");
  const shown = [...(text.trim() || "\u2423".repeat(text.length))];
  return shown.length > longest ? shown.slice(0, longest - 1).join("") + "\u2026" : shown.join("");
}

/** Whether symbols are pieces of running text, to be set without gaps: letters, or words that carry their space. */
export const running = (symbols) =>
  symbols.every((symbol) => [...symbol].length === 1) || symbols.some((symbol) => symbol.startsWith("\u2581"));
