// A text of several lines: the sentences of a story, the turns of a dialogue.

import { written } from "./area.js";

export const lines = written({
  rows: 6,
  asks: (event) => event.ctrlKey || event.metaKey,
  note: ["One sentence or turn a line: ", ["Enter"], " starts a line, ", ["Ctrl"], " ", ["Enter"], " asks."],
});
