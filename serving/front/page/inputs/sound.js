// A sound: a WAV file, or what can be made one, or a recording.

import { element } from "../dom.js";
import { asWav, isWav } from "../sound.js";
import { fileOf, held, nameOf, sendFile } from "./file.js";
import { recording } from "./recording.js";

export const sound = {
  note: ["Choose a sound, drop it here, paste it or record one."],
  lacks: "Choose a sound or record one",
  make({ id, note, say }) {
    const player = element("audio", { controls: true, "aria-label": "The sound", hidden: true });
    const recorder = recording({ say, begun: () => (control.value = null), done: (file) => control.take(file) });
    const control = held({ id, note, say, fit, show, accept: "audio/*", called: "A sound" }, recorder.node, player);

    function show(file) {
      recorder.cancel();
      URL.revokeObjectURL(player.src);
      player.hidden = !file;
      if (file) player.src = URL.createObjectURL(file);
      else player.removeAttribute("src");
    }
    player.addEventListener("error", () => (player.hidden = true));
    return control;
  },
  read: (sent, name) => fileOf(sent, `${name}.wav`, "audio/wav"),
  send: sendFile,
  brief: (file) => (file ? nameOf(file) : ""),
};

async function fit(file) {
  if (await isWav(file)) return file;
  return asWav(file, file.name.replace(/\.\w+$/, "")).catch(() => {
    throw new Error(`${file.name || "The file"} is not a sound that this browser can read.`);
  });
}
