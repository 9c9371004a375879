// A file that shows itself, for the kinds that are seen. `called` begins a sentence about it; `types` are those that a
// model reads, and `expected` names them.

import { element, showFile } from "../dom.js";
import { typed } from "../picture.js";
import { fileOf, held, nameOf, sendFile } from "./file.js";

export function seen({ called, types, expected, ...more }) {
  return {
    make({ id, note, say }) {
      const preview = element("img", { class: "preview", alt: "", hidden: true });
      const fit = (file) => typed(file, types, expected);
      const control = held({ id, note, say, show, called, fit, accept: types.join() }, preview);

      function show(file) {
        preview.hidden = true;
        if (file) showFile([preview], file).then((shown) => (preview.hidden = !(shown && control.value)));
      }
      return control;
    },
    read: (sent, name) => fileOf(sent, name),
    send: sendFile,
    brief(file) {
      if (!file) return "";
      const thumb = element("img", { class: "thumb", alt: "" });
      showFile([thumb], file).then((shown) => shown || thumb.remove());
      return element("span", {}, thumb, nameOf(file));
    },
    ...more,
  };
}
