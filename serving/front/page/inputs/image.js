// A picture.

import { element, showFile } from "../dom.js";
import { fileOf, held, nameOf, sendFile } from "./file.js";

export const image = {
  note: ["Choose a picture, drop it here or paste it."],
  lacks: "Choose a picture",
  make({ id, note, say }) {
    const preview = element("img", { class: "preview", alt: "", hidden: true });
    const control = held({ id, note, say, show, accept: "image/*", called: "A picture" }, preview);

    function show(file) {
      preview.hidden = true;
      if (file) showFile([preview], file).then((shown) => (preview.hidden = !(shown && control.value)));
    }
    return control;
  },
  read: (sent) => fileOf(sent, "example"),
  send: sendFile,
  brief(file) {
    if (!file) return "";
    const thumb = element("img", { class: "thumb", alt: "" });
    showFile([thumb], file).then((shown) => shown || thumb.remove());
    return element("span", {}, thumb, nameOf(file));
  },
};
