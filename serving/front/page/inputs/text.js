// A text.

import { written } from "./area.js";

export const text = written({
  rows: 2,
  asks: (event) => !event.shiftKey,
  keys: [["Enter"], " asks, ", ["Shift"], " ", ["Enter"], " starts a new line, "],
});
