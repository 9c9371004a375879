// The inputs of the chosen model, one field for each. What was given is kept for a model with the same input.

import { element, withKeys } from "./dom.js";
import { kindOf } from "./inputs/index.js";

export class Fields {
  #place;
  #keys;
  #hooks;
  #fields = []; // { input, kind, control }
  #given = new Map(); // by kind and name

  /** @param hooks `ask()` asks and `say(message)` tells what is wrong. */
  constructor(place, keys, hooks) {
    this.#place = place;
    this.#keys = keys;
    this.#hooks = hooks;
    document.addEventListener("paste", (event) => this.#paste(event));
  }

  draw(inputs) {
    const same = JSON.stringify(inputs) === JSON.stringify(this.#fields.map(({ input }) => input));
    if (same) return; // who is typing goes on typing
    for (const { input, control } of this.#fields) this.#given.set(key(input), control.value);
    this.#fields = inputs.map((input, index) => this.#field(input, `input-${index}`));
    this.#place.replaceChildren(...this.#fields.map(({ node }) => node));
    const keys = this.#fields.find(({ kind }) => kind.keys)?.kind.keys ?? [];
    this.#keys.replaceChildren(...withKeys([...keys, ["Esc"], " stops"]));
  }

  #field(input, id) {
    const kind = kindOf(input);
    const note = kind.note ? `${id}-note` : this.#keys.id;
    const control = kind.make({ id, note, ...this.#hooks });
    if (this.#given.has(key(input))) control.value = this.#given.get(key(input));
    const below = kind.note ? [element("span", { id: note, class: "quiet" }, ...withKeys(kind.note))] : [];
    const node = element("div", { class: "field" }, element("label", { for: id }, input.name), control.node, ...below);
    return { input, kind, control, node };
  }

  get values() {
    return Object.fromEntries(this.#fields.map(({ input, control }) => [input.name, control.value]));
  }

  /** Puts values in. A text that is not given is empty; a file that is not given stays. */
  fill(values) {
    for (const { input, control } of this.#fields) {
      if (Object.hasOwn(values, input.name)) control.value = values[input.name];
      else if (!control.take) control.value = "";
    }
  }

  get empty() {
    return this.#fields.every(({ control }) => !control.value);
  }

  /** What is still to be done before these can be sent, said and in focus; "" where nothing is. */
  lacking() {
    const field = this.#fields.find(({ kind, control }) => kind.lacks && !control.value);
    field?.control.focus();
    return field ? `${field.kind.lacks} (${field.input.name}).` : "";
  }

  focus() {
    this.#fields[0]?.control.focus();
  }

  /** Makes what is typed next take the place of what is there. */
  select() {
    this.#fields[0]?.control.select?.();
  }

  #paste(event) {
    const file = event.clipboardData?.files[0];
    const typed = event.target.matches?.("textarea, input:not([type=file])") && event.clipboardData.getData("text");
    const takers = this.#fields.filter(({ control }) => control.take);
    if (!file || typed || !takers.length) return;
    event.preventDefault();
    const { control } = takers.find(({ node }) => node.contains(document.activeElement)) ?? takers[0];
    control.take(file);
  }
}

const key = ({ name, widget }) => `${widget} ${name}`;
