// When each symbol was heard: the pitches of the sound over time, below them a row of weights for each symbol; and as a
// table.

import { drawn, element, shade } from "../dom.js";
import { samplesOf } from "../sound.js";
import { legible, weightOf } from "../words.js";
import { framed } from "./frame.js";
import { legend } from "./legend.js";
import { inOrder, named, outputsOf, read } from "./looks.js";
import { pitches, RATE } from "./pitches.js";
import { Pointed, walk } from "./pointed.js";

const SECONDS = /^\d+(\.\d+)? s$/; // the name of a place: when it begins
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60]; // seconds from tick to tick
const TICKS = 5; // steps at most
const MUCH = 0.5; // of the largest weight of a symbol: where it was heard

export const heard = {
  shows: (outputs, row, asked) => found(outputs, row, asked).flatMap(({ name }) => outputsOf(name)),
  draw: (outputs, row, asked) => found(outputs, row, asked).map((look) => figure(look, asked[look.name])),
};

/** The looks at sounds, of which the places are named by their times. */
function found(outputs, row, asked) {
  const names = inOrder(named(outputs, false), asked).filter((name) => isSound(asked[name]));
  return names.map((name) => read(outputs, name, row, asked)).filter(({ into }) => into.every((place) => SECONDS.test(place)));
}

const isSound = (value) => value instanceof Blob && (value.type.startsWith("audio/") || /\.wav$/i.test(value.name));

function figure(look, sound) {
  const weights = look.out.map((_, row) => look.into.map((_, place) => look.weights[row]?.[place] ?? 0));
  const largest = weights.flat().reduce((most, weight) => Math.max(most, weight), 0);
  if (!largest) return element("p", { class: "quiet" }, nothing(look));
  const top = Number(largest.toPrecision(2));
  const looks = weights.map((each, row) => ({ symbol: legible(look.out[row]), ...most(each, look.into), weights: each }));
  const tracks = looks.map((each) => track(each, top));
  const bracket = element("div", { class: "bracket", hidden: true });
  const chart = element("div", { class: "heard", "aria-hidden": true }, ...tracks);
  chart.style.setProperty("--places", look.into.length);
  draw(chart, bracket, sound, lengthOf(look.into));
  const label = `${looks.length} symbols with when they were heard${look.of && ` in ${look.of}`}. Arrow keys move over them.`;
  const box = element("div", { class: "words", tabindex: 0, role: "application", "aria-label": label }, chart);
  const reading = element("p", { class: "reading", role: "status" });
  follow(box, tracks, looks, bracket, reading);
  return element("figure", { class: "alignment" },
    element("figcaption", {}, `When it heard each symbol${look.of && ` in ${look.of}`}`), framed(box),
    element("div", { class: "below" }, legend(top), reading), table(looks));
}

/** Where a symbol was heard most, and from which place to which it was heard much. */
function most(weights, places) {
  const place = weights.indexOf(Math.max(...weights));
  const much = (weight) => weight >= MUCH * weights[place];
  const after = weights.findIndex((weight, index) => index > place && !much(weight));
  const first = weights.findLastIndex((weight, index) => index < place && !much(weight)) + 1;
  return { place, first, last: (after < 0 ? weights.length : after) - 1, time: places[place] };
}

/** Seconds that the places span; 0 where one alone does not tell. */
function lengthOf(places) {
  const [first, last] = [places[0], places.at(-1)].map(parseFloat);
  return places.length > 1 ? ((last - first) / (places.length - 1)) * places.length : 0;
}

// What is drawn

function track({ symbol, weights }, top) {
  const cells = weights.map((weight, x) => {
    const cell = drawn("rect", { x, width: 1, height: 1 });
    shade(cell, weight / top);
    return cell;
  });
  return element("div", { class: "track" }, element("span", { class: "name", dir: "auto" }, symbol),
    drawn("svg", { viewBox: `0 0 ${weights.length} 1`, preserveAspectRatio: "none" }, ...cells));
}

/** Adds the line of time, and the pitches where the browser can read the sound. */
async function draw(chart, bracket, sound, length) {
  const samples = await samplesOf(sound, RATE).catch(() => []);
  const seconds = length || samples.length / RATE;
  chart.append(element("div", { class: "times quiet" }, ...ticks(seconds)));
  if (!samples.length) return;
  const seen = samples.subarray(0, Math.round(seconds * RATE));
  const canvas = pitches(seen);
  canvas.style.width = `${(100 * seen.length) / RATE / seconds}%`;
  const scale = [`${RATE / 2000} kHz`, "0"].map((pitch) => element("span", {}, pitch));
  chart.prepend(element("div", { class: "wave" }, element("span", { class: "range quiet" }, ...scale),
    element("div", { class: "pitched" }, canvas, bracket)));
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

/** Tells when a symbol was heard that is pointed at, and brackets it in the sound. */
function follow(box, tracks, looks, bracket, reading) {
  const rest = "Point at a symbol, or move over them with the arrow keys, to read when it was heard.";
  const pointed = new Pointed();
  reading.textContent = rest;
  pointed.addEventListener("change", () => {
    const look = looks[pointed.column];
    reading.replaceChildren(...(look ? [element("bdi", {}, look.symbol), ` was heard most at ${when(look)}`] : [rest]));
    bracket.hidden = !look;
    if (!look) return;
    bracket.style.left = `${(100 * look.first) / look.weights.length}%`;
    bracket.style.width = `${(100 * (look.last + 1 - look.first)) / look.weights.length}%`;
  });
  walk(box, tracks, pointed, {
    ArrowUp: (at) => Math.max(0, at - 1),
    ArrowDown: (at) => Math.min(tracks.length - 1, at + 1),
  });
  box.addEventListener("keydown", () => {
    const look = looks[pointed.column];
    if (look) tracks[pointed.column].querySelectorAll("rect")[look.place].scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

const when = ({ time, weights, place }) => `${time}, with weight ${weightOf(weights[place])}`;

function table(looks) {
  const rows = looks.map((look) =>
    element("tr", {}, element("th", { scope: "row", dir: "auto" }, look.symbol), element("td", {}, when(look))));
  const head = ["symbol", "was heard most at"].map((name) => element("th", { scope: "col" }, name));
  return element("details", {}, element("summary", {}, "In words"),
    element("table", {}, element("caption", { class: "unseen" }, "When each symbol was heard most"),
      element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

function nothing({ into, out, of }) {
  const what = of || "the sound";
  if (!into.length) return `There was nothing to hear: ${what} is silent.`;
  return out.length ? `This model does not look at ${what}.` : `Nothing was said, so nothing in ${what} was looked at.`;
}
