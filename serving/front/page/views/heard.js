// When each symbol was heard: the pitches of the sound over time, and the weights of each symbol.

import { element } from "../dom.js";
import { samplesOf } from "../sound.js";
import { pitches, RATE } from "./pitches.js";
import { overTime } from "./tracks.js";

const SECONDS = /^\d+(\.\d+)? s$/; // the name of a place: when it begins
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60]; // seconds from tick to tick
const TICKS = 5; // steps at most

export const heard = overTime({
  called: "heard",
  much: 0.5,
  of: ({ type, name }) => type.startsWith("audio/") || /\.wav$/i.test(name),
  place: (name) => SECONDS.test(name),
  words: ({ of, out }) => ({
    title: `When each token was heard${of && ` in ${of}`}`,
    label: `${out.length} tokens with the times when they were heard${of && ` in ${of}`}. Arrow keys move over them.`,
    rest: "Point at a token, or move over them with the arrow keys, to read when it was heard.",
    most: "attends most to",
    caption: "The time with the largest weight for each token",
    what: of || "the sound",
    none: `There is nothing to show: ${of || "the sound"} is silent.`,
  }),
  where: (place, { into }) => into[place],
  draw,
});

/** Adds the line of time, and the pitches where the browser can read the sound. */
async function draw({ into }, sound, { above, below, bracket }) {
  const samples = await samplesOf(sound, RATE).catch(() => []);
  const seconds = lengthOf(into) || samples.length / RATE;
  below(element("div", { class: "times quiet" }, ...ticks(seconds)));
  if (!samples.length) return;
  const seen = samples.subarray(0, Math.round(seconds * RATE));
  const canvas = pitches(seen);
  canvas.style.width = `${(100 * seen.length) / RATE / seconds}%`;
  const scale = [`${RATE / 2000} kHz`, "0"].map((pitch) => element("span", {}, pitch));
  above(element("div", { class: "pitched" }, canvas, bracket), ...scale);
}

/** Seconds that the places span; 0 where one alone does not tell. */
function lengthOf(places) {
  const [first, last] = [places[0], places.at(-1)].map(parseFloat);
  return places.length > 1 ? ((last - first) / (places.length - 1)) * places.length : 0;
}

function ticks(seconds) {
  const step = STEPS.find((each) => seconds / each <= TICKS) ?? STEPS.at(-1);
  const count = seconds ? Math.ceil(seconds / step) : 0;
  return Array.from({ length: count }, (_, index) => {
    const tick = element("span", {}, `${Number((index * step).toFixed(2))} s`);
    tick.style.left = `${(100 * index * step) / seconds}%`;
    return tick;
  });
}
