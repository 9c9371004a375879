// A button that records from the microphone.

import { element } from "../dom.js";
import { asWav } from "../sound.js";

const LONGEST = 30; // seconds
const SPOKEN = 10; // seconds from one that a screen reader says to the next: the microphone hears that too
const REFUSALS = {
  NotAllowedError: "This page may not use the microphone. Allow it in the settings of the browser.",
  NotFoundError: "No microphone was found.",
  EncodingError: "Nothing was recorded.",
};

/** `{ node, cancel() }`. `begun()` is told that a recording begins, `done(file)` gets it unless it was cancelled. */
export function recording({ say, begun, done }) {
  const button = element("button", { type: "button" }, "Record");
  const seconds = element("span", { class: "quiet", "aria-hidden": true });
  const spoken = element("span", { class: "unseen", role: "status" });
  let busy = false; // from asking for the microphone until all is done
  let running = null; // { stop(), kept } while it records

  async function record() {
    busy = true;
    say("");
    try {
      const stream = await microphone();
      begun();
      const own = (running = { stop: () => {}, kept: true });
      const clock = count();
      const heard = await listen(stream, own).finally(() => rest(stream, clock));
      if (own.kept) done(await asWav(heard, "recording", LONGEST));
    } catch (error) {
      say(REFUSALS[error.name] ?? error.message);
    }
    busy = false;
  }

  /** Tells the seconds as they pass, and stops at the last, or where the button is gone. */
  function count() {
    const began = performance.now();
    const tell = () => {
      const elapsed = Math.round((performance.now() - began) / 1000);
      seconds.textContent = `${elapsed} of ${LONGEST} s`;
      if (elapsed % SPOKEN === 0) spoken.textContent = elapsed ? `${elapsed} seconds` : "Recording";
      if (!button.isConnected) cancel();
      else if (elapsed >= LONGEST) running.stop();
    };
    button.textContent = "Stop";
    tell();
    return setInterval(tell, 1000);
  }

  function rest(stream, clock) {
    clearInterval(clock);
    for (const track of stream.getTracks()) track.stop();
    running = null;
    button.textContent = "Record";
    seconds.textContent = "";
    spoken.textContent = "Stopped";
  }

  function cancel() {
    if (running) running.kept = false;
    running?.stop();
  }
  button.addEventListener("click", () => (running ? running.stop() : busy || record()));
  return { node: element("div", { class: "record" }, button, seconds, spoken), cancel };
}

async function microphone() {
  if (navigator.mediaDevices) return navigator.mediaDevices.getUserMedia({ audio: true });
  throw new Error("Browsers allow recording only on pages that are served over HTTPS or from the same machine.");
}

/** What is heard until `running.stop()`, as a file of the browser's own kind. */
function listen(stream, running) {
  return new Promise((resolve, reject) => {
    const recorder = new MediaRecorder(stream);
    recorder.addEventListener("dataavailable", ({ data }) => resolve(data));
    recorder.addEventListener("error", ({ error }) => reject(error));
    running.stop = () => recorder.state === "inactive" || recorder.stop();
    recorder.start();
  });
}
