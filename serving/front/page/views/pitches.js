// The pitches of a sound over time: a canvas with a column for every hop, low pitches below, darker where they are loud.

import { element } from "../dom.js";

export const RATE = 8_000; // samples a second
const HOP = RATE / 100; // samples from column to column
const SIZE = 256; // samples of a column
const QUIETEST = -5; // powers of ten below the loudest

const WINDOW = Float32Array.from({ length: SIZE }, (_, place) => 0.5 - 0.5 * Math.cos((2 * Math.PI * place) / SIZE));

export function pitches(samples) {
  const count = Math.ceil(samples.length / HOP);
  const columns = Array.from({ length: count }, (_, column) => powers(samples, Math.round((column + 0.5) * HOP - SIZE / 2)));
  const loudest = columns.reduce((most, column) => Math.max(most, ...column), 0) || 1;
  const [width, height] = [Math.max(1, count), SIZE / 2];
  const picture = new ImageData(width, height); // black, as deep as it is loud
  columns.forEach((column, x) => column.forEach((power, pitch) => {
    const share = Math.max(0, 1 - Math.log10(power / loudest) / QUIETEST);
    picture.data[4 * ((height - 1 - pitch) * width + x) + 3] = 255 * share;
  }));
  const canvas = element("canvas", { class: "pitches", width, height });
  canvas.getContext("2d").putImageData(picture, 0, 0);
  return canvas;
}

/** The power of each pitch from 0 to half the rate, in the window that begins at a sample. */
function powers(samples, start) {
  const real = WINDOW.map((weight, place) => weight * (samples[start + place] ?? 0));
  const imaginary = new Float32Array(SIZE);
  transform(real, imaginary);
  return real.subarray(0, SIZE / 2).map((value, pitch) => value ** 2 + imaginary[pitch] ** 2);
}

/** The fast Fourier transform, in place. */
function transform(real, imaginary) {
  const swap = (numbers, a, b) => ([numbers[a], numbers[b]] = [numbers[b], numbers[a]]);
  for (let place = 1, mirrored = 0; place < SIZE; place++) {
    let bit = SIZE >> 1;
    for (; mirrored & bit; bit >>= 1) mirrored ^= bit;
    mirrored ^= bit;
    if (place < mirrored) [real, imaginary].forEach((numbers) => swap(numbers, place, mirrored));
  }
  for (let half = 1; half < SIZE; half *= 2) {
    for (let step = 0; step < half; step++) {
      const [cosine, sine] = [Math.cos((Math.PI * step) / half), -Math.sin((Math.PI * step) / half)];
      for (let a = step; a < SIZE; a += 2 * half) {
        const b = a + half;
        const [x, y] = [real[b] * cosine - imaginary[b] * sine, real[b] * sine + imaginary[b] * cosine];
        [real[b], imaginary[b]] = [real[a] - x, imaginary[a] - y];
        [real[a], imaginary[a]] = [real[a] + x, imaginary[a] + y];
      }
    }
  }
}
