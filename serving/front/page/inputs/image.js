// A picture: chosen, dropped or pasted, and sent as the bytes of its file.

import { element, showFile } from "../dom.js";

const LARGEST = 8; // megabytes
const KEPT = 32; // characters of a file's name on a button

export const image = {
  note: ["Choose a picture, drop it here or paste it."],
  lacks: "Choose a picture",
  make({ id, note, say }) {
    const chooser = element("input", { type: "file", id, accept: "image/*", "aria-describedby": note });
    const preview = element("img", { class: "preview", alt: "", hidden: true });
    const node = element("div", { class: "drop" }, chooser, preview);
    let value = null;

    function hold(file) {
      value = file ?? null;
      const held = new DataTransfer();
      if (value) held.items.add(value);
      chooser.files = held.files; // it names the file, wherever that came from
      preview.hidden = true;
      if (value) showFile([preview], value).then((shown) => (preview.hidden = !(shown && value)));
    }
    function take(file) {
      const size = file.size / 1e6;
      if (size <= LARGEST) return say(""), hold(file);
      say(`${file.name || "The file"} has ${size.toFixed(1)} MB. A picture may have at most ${LARGEST} MB.`);
      hold(value);
    }
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
      get value() { return value; },
      set value(file) { hold(file); },
      focus: () => chooser.focus(),
    };
  },
  read(sent) {
    const bytes = Uint8Array.from(atob(sent?.b64 ?? ""), (symbol) => symbol.charCodeAt(0));
    return bytes.length ? new File([bytes], "example") : null;
  },
  async send(file) {
    const reader = new FileReader();
    await new Promise((resolve, reject) => {
      Object.assign(reader, { onload: resolve, onerror: () => reject(reader.error) });
      reader.readAsDataURL(file);
    });
    return { b64: reader.result.split(",")[1] ?? "" };
  },
  brief(file) {
    if (!file) return "";
    const thumb = element("img", { class: "thumb", alt: "" });
    showFile([thumb], file).then((shown) => shown || thumb.remove());
    return element("span", {}, thumb, [...file.name].slice(0, KEPT).join(""));
  },
};
