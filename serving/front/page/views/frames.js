// In which frame of a clip each symbol was seen: the frames side by side, and the weights of each symbol below them.

import { element, showFile } from "../dom.js";
import { framesOf } from "../picture.js";
import { title } from "./looks.js";
import { overTime } from "./tracks.js";

const DIMMEST = 0.3; // of a frame without weight, while a symbol is pointed at

export const frames = overTime({
  called: "seen",
  much: 1,
  of: ({ type }) => type.startsWith("image/"),
  place: (name, index) => name === String(index + 1),
  words: (look) => ({
    title: title(look),
    label: `Frames${look.of && ` of ${look.of}`} with weights for each of ${look.out.length}. Arrow keys move over them.`,
    rest: "Point at a position to read its weight, or move over the tokens with the arrow keys.",
    most: "attends most to",
    each: "attends to",
    caption: "The frame with the largest weight for each token",
    what: look.of || "the clip",
    none: `There is nothing to show: ${look.of || "the clip"} has no frames.`,
  }),
  where: (place, { into }) => `frame ${into[place]} of ${into.length}`,
  draw,
});

/** Adds the numbers of the frames, and these; where they cannot be had, the clip as the browser shows it. */
async function draw({ into }, clip, { above, below, bracket, pointed, weights }) {
  below(element("div", { class: "numbers quiet" }, ...into.map((number) => element("span", {}, number))));
  const stills = await framesOf(clip, into.length).catch(() => []);
  const parts = stills.length ? [...stills, bracket] : await whole(clip);
  if (parts.length) above(element("div", { class: "stills" }, ...parts));
  pointed.addEventListener("change", () => dim(stills, weights[pointed.column]));
}

async function whole(clip) {
  const image = element("img", { alt: "" });
  return (await showFile([image], clip)) ? [image] : [];
}

/** Leaves the frames bright that a symbol looked at, all of them where there is none. */
function dim(stills, weights) {
  const top = weights && Math.max(...weights);
  stills.forEach((still, place) => (still.style.opacity = top ? DIMMEST + (1 - DIMMEST) * (weights[place] / top) : ""));
}
