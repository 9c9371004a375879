// A picture.

import { seen } from "./picture.js";

export const image = seen({
  called: "A picture",
  note: ["Choose a picture, drop it here or paste it."],
  lacks: "Choose a picture",
});
