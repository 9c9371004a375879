// The ways to give a value. A kind of input is one object:
//   make({ id, note, ask, say })  a control: { node, value, focus() }, and `take(file)` where it takes files
//   read(sent, name), send(value) a value from what an example of this name holds, and as what the server gets it
//   brief(value)                  the value on a button: text, or an element
//   keys                          parts of the line beside the button that says which keys ask, where they need saying
//   note                          a line below the field
//   lacks                         what is asked of the person where there is no value; without it none is needed
// A value is a string, or a file, which no link carries.

import { clip } from "./clip.js";
import { image } from "./image.js";
import { lines } from "./lines.js";
import { sound } from "./sound.js";
import { text } from "./text.js";

const KINDS = { text, lines, image, clip, sound };

/** The kind of an input by its name; one that is not known is asked for as text. */
export const kindOf = ({ widget }) => (Object.hasOwn(KINDS, widget) ? KINDS[widget] : text);

/** The values of an example; a file in it is called by its number. */
export const readAll = (inputs, example, number = 1) =>
  Object.fromEntries(inputs.map((input) => [input.name, kindOf(input).read(example[input.name], `example ${number}`)]));

/** Values as the server gets them, a batch of one. */
export async function sendAll(inputs, values) {
  const sent = inputs.map(async (input) => [input.name, [await kindOf(input).send(values[input.name])]]);
  return Object.fromEntries(await Promise.all(sent));
}

/** Values on a button. */
export function briefly(inputs, values) {
  const parts = inputs.map((input) => kindOf(input).brief(values[input.name])).filter(Boolean);
  return parts.length ? parts.flatMap((part, index) => (index ? [" \u00b7 ", part] : [part])) : ["(empty)"];
}
