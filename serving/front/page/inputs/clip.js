// A clip: pictures that move, or a picture of their frames side by side.

import { seen } from "./picture.js";

export const clip = seen({
  called: "A clip",
  types: ["image/gif", "image/jpeg", "image/png", "image/bmp"],
  expected: "an animated GIF, or a strip of frames as a JPEG, PNG or BMP picture",
  note: ["Choose an animated GIF or a strip of frames, drop it here or paste it."],
  lacks: "Choose a clip",
});
