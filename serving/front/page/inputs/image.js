// A picture.

import { seen } from "./picture.js";

export const image = seen({
  called: "A picture",
  types: ["image/jpeg", "image/png", "image/bmp"],
  expected: "a JPEG, PNG or BMP picture",
  note: ["Choose a picture, drop it here or paste it."],
  lacks: "Choose a picture",
});
