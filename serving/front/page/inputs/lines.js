// A text of several lines: the sentences of a story, the turns of a dialogue.

import { written } from "./area.js";

const KEPT = 20; // characters of the first line on a button

export const lines = written({
  rows: 6,
  asks: (event) => event.ctrlKey || event.metaKey,
  brief(text) {
    const [first, ...others] = text.trim().split(/\s*\n\s*/);
    const cut = [...first].length > KEPT ? [...first].slice(0, KEPT).join("") : first;
    return others.length || cut !== first ? `${cut} \u2026` : first;
  },
  note: ["One sentence or turn per line: ", ["Enter"], " starts a new line, ", ["Ctrl"], " ", ["Enter"], " asks."],
});
