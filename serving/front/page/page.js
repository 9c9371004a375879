// The page: choose a model, ask, show the answer. One question at a time.

import { answer } from "./answer.js";
import { element } from "./dom.js";
import { fetchJson } from "./server.js";

const SLOW = 300; // milliseconds before a question counts as slow, with a spinner and a way to stop
const REMEMBERED = 8; // questions kept, in this page only

const at = (id) => document.getElementById(id);
const [form, select, text, token, button] = ["form", "model", "text", "token", "ask"].map(at);
const link = () => new URLSearchParams(location.hash.slice(1));
const say = (message) => (at("alert").textContent = message);
let models = [];
let asked = []; // the latest questions, newest first
let running = null; // { stop, done }: what is under way

// One thing at a time

/** Does `task(signal)` unless something is under way; whatever goes wrong is shown. */
function work(task) {
  if (running) return;
  const controller = new AbortController();
  const slow = setTimeout(() => busy(true), SLOW);
  say("");
  const done = task(controller.signal).catch(explain).finally(() => {
    clearTimeout(slow);
    busy(false);
    running = null;
  });
  running = { stop: () => controller.abort(), done };
}

async function stop() {
  running?.stop();
  await running?.done;
}

function busy(slow) {
  form.classList.toggle("slow", slow);
  button.textContent = slow ? "Stop" : "Ask";
  at("working").textContent = slow ? "working" : "";
}

async function explain(error) {
  show();
  if (error.name === "AbortError") return say("Stopped.");
  if (error.status === 401) {
    say(token.value ? "The server refuses this access token." : "The server asks for an access token.");
    at("key").hidden = false;
    return token.focus();
  }
  if (error.status === 404) await loadModels().catch(() => {}); // a model that has left: its status says why
  say([error.message, at("alert").textContent].filter(Boolean).join(". "));
}

// Models

const chosen = () => models.find((model) => model.name === select.value);
const takesText = ({ inputs }) => inputs.length === 1 && inputs[0].type === "string";

async function loadModels(signal) {
  const found = (await fetchJson("/page/models.json", { token: token.value, signal })).models;
  if (!found.length) say("There is no model here yet.");
  if (JSON.stringify(found) === JSON.stringify(models)) return;
  models = found;
  const wanted = select.value || link().get("model");
  const name = (model) => (model.version ? model.name : `${model.name} (not loaded)`);
  select.replaceChildren(...models.map((model) => element("option", { value: model.name }, name(model))));
  if (models.length) choose(wanted);
}

function choose(name) {
  const known = models.some((model) => model.name === name);
  select.value = known ? name : (models.find(({ version }) => version) ?? models[0]).name;
  describe();
  if (name && !known) say(`There is no model named ${name} here.`);
}

/** Says which version answers, why another does not, and whether this page can ask it at all. */
function describe() {
  const { name, version, versions, inputs } = chosen();
  const faults = versions.filter(({ error }) => error).map((fault) => `Version ${fault.version}: ${fault.error}`);
  at("about").textContent = version ? [`version ${version}`, ...faults].join(". ") : "";
  button.disabled = Boolean(version) && !takesText(chosen());
  if (button.disabled) {
    const taken = inputs.map((input) => `${input.name} (${input.type})`).join(", ") || "nothing by default";
    say(`This page asks with one text. ${name} takes ${taken}: ask it by REST or gRPC.`);
  } else if (!version) {
    const states = versions.map((one) => `Version ${one.version} is in state ${one.state}.`);
    say(`${name} is not loaded. ${(faults.length ? faults : states).join(" ")}`);
  }
}

// Questions

async function ask(signal) {
  const knew = models.length;
  if (!chosen()?.version) await loadModels(signal); // it may have come up in the meantime
  const model = chosen();
  if (!model?.version || !takesText(model)) return model && describe();
  if (!knew && !text.value) return text.focus();
  const question = { model: model.name, text: text.value };
  history.replaceState(null, "", `#${new URLSearchParams(question)}`);
  const path = `/v1/models/${encodeURIComponent(model.name)}:predict`;
  const body = { inputs: { [model.inputs[0].name]: [question.text] } };
  const began = performance.now();
  const { outputs } = await fetchJson(path, { body, token: token.value, signal });
  const named = model.outputs.length === 1 ? { [model.outputs[0]]: outputs } : outputs; // a single one comes bare
  const { spoken, details } = answer(named, performance.now() - began);
  show(spoken, details);
  remember(question);
  await loadModels(signal).catch(() => {}); // a new version may have come
}

/** Shows an answer, or none. Its place is always there: a screen reader speaks what changes in a place it knows. */
function show(spoken = [], details = []) {
  at("answer").replaceChildren(...spoken);
  at("details").replaceChildren(...details);
}

function remember(question) {
  const same = (other) => other.model === question.model && other.text === question.text;
  asked = [question, ...asked.filter((other) => !same(other))].slice(0, REMEMBERED);
  at("asked").hidden = asked.length < 2;
  at("asked").replaceChildren(...asked.map((past) => {
    const again = element("button", { type: "button", dir: "auto", title: past.model }, past.text || "(empty)");
    again.addEventListener("click", () => pose(past));
    return again;
  }));
}

async function pose(question) {
  await stop();
  say("");
  text.value = question.text ?? "";
  if (models.length) choose(question.model ?? select.value);
  if (!at("alert").textContent) work(ask);
}

// What the person does

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (form.classList.contains("slow")) stop();
  else work(ask);
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!event.repeat) work(ask);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") stop();
});
select.addEventListener("change", async () => {
  await stop();
  say("");
  show();
  history.replaceState(null, "", `#${new URLSearchParams({ model: select.value, text: text.value })}`);
  describe();
});
addEventListener("hashchange", () => pose(Object.fromEntries(link())));

work(async (signal) => {
  text.value = link().get("text") ?? "";
  text.focus();
  await loadModels(signal);
  if (text.value && !at("alert").textContent) await ask(signal);
});
