// A file, for the kinds that take one: chosen, dropped or pasted, and sent as its bytes.

import { element } from "../dom.js";
import { typeOf } from "../picture.js";

const LARGEST = 8; // megabytes
const KEPT = 32; // characters of a file's name on a button

/** A control for a file. `called` begins a sentence about it, `fit(file)` makes it what is held or throws why it cannot
 *  be (or promises so), `show(file)` shows what is held, or null; `parts` stand below the chooser. */
export function held({ id, note, say, accept, called, fit = (file) => file, show }, ...parts) {
  const chooser = element("input", { type: "file", id, accept, "aria-describedby": note });
  const node = element("div", { class: "drop" }, chooser, ...parts);
  let value = null;
  let coming = null; // a file that may be held in a moment

  function hold(file) {
    [value, coming] = [file ?? null, null];
    const files = new DataTransfer();
    if (value) files.items.add(value);
    chooser.files = files.files; // it names the file, wherever that came from
    show(value);
  }
  async function take(file) {
    coming = file;
    const found = await fitting(file).catch((error) => error);
    if (coming !== file) return; // another has come
    const fits = found instanceof Blob;
    say(fits ? "" : found.message);
    hold(fits ? found : value);
  }
  const fitting = async (file) => small(await fit(small(file, called)), called);
  chooser.addEventListener("change", () => (chooser.files.length ? take(chooser.files[0]) : hold(null)));
  for (const [event, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    node.addEventListener(event, (dragged) => {
      dragged.preventDefault();
      node.classList.toggle("over", over);
      if (event === "drop" && dragged.dataTransfer.files.length) take(dragged.dataTransfer.files[0]);
    });
  }
  return {
    node,
    take,
    get value() { return coming ? null : value; },
    set value(file) { hold(file); },
    focus: () => chooser.focus(),
  };
}

function small(file, called) {
  const size = file.size / 1e6;
  if (size <= LARGEST) return file;
  throw new Error(`${file.name || "The file"} is too large (${size.toFixed(1)} MB). ${called} may have at most ${LARGEST} MB.`);
}

/** A file from what an example holds, a picture unless its type is given; null where that is none. */
export function fileOf(sent, name, type) {
  const bytes = Uint8Array.from(atob(sent?.b64 ?? ""), (symbol) => symbol.charCodeAt(0));
  return bytes.length ? new File([bytes], name, { type: type ?? typeOf(bytes) }) : null;
}

export async function sendFile(file) {
  const reader = new FileReader();
  await new Promise((resolve, reject) => {
    Object.assign(reader, { onload: resolve, onerror: () => reject(reader.error) });
    reader.readAsDataURL(file);
  });
  return { b64: reader.result.split(",")[1] ?? "" };
}

export const nameOf = (file) => [...file.name].slice(0, KEPT).join("");
