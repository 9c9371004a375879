// The page: choose a model, ask, show the answer. One question at a time.

import { answer } from "./answer.js";
import { element } from "./dom.js";
import { Fields } from "./fields.js";
import { briefly, kindOf, readAll, sendAll } from "./inputs/index.js";
import { fetchJson } from "./server.js";
import { readable } from "./words.js";

const SLOW = 300; // milliseconds before a question counts as slow, with a spinner and a way to stop
const REMEMBERED = 8; // questions kept, in this page only
const ENGINES = { litert: "LiteRT" }; // titles of engines other than TensorFlow

const at = (id) => document.getElementById(id);
const [form, select, token, button] = ["form", "model", "token", "ask"].map(at);
const say = (message) => (at("alert").textContent = message);
const fields = new Fields(at("inputs"), at("keys"), { ask: submit, say });
let models = [];
let wanted = link(); // what the link asks, until its model is there
let asked = []; // the latest questions, newest first
let offered = ""; // the model whose examples are on the buttons, and these
let running = null; // { stop, done, shows }: what is under way, and whether it only shows an example

// One thing at a time

/** Does `task(signal)` unless something is under way; whatever goes wrong is shown. */
function work(task, shows = false) {
  if (running) return;
  const controller = new AbortController();
  const slow = setTimeout(() => busy(true), SLOW);
  say("");
  const done = task(controller.signal).catch(explain).finally(() => {
    clearTimeout(slow);
    busy(false);
    running = null;
  });
  running = { stop: () => controller.abort(), done, shows };
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
    say(token.value ? "The server rejected this access token." : "The server requires an access token.");
    at("key").hidden = false;
    return token.focus();
  }
  if (error.status === 404) await loadModels().catch(() => {}); // a model that has left: its status says why
  const files = chosen()?.inputs.filter((input) => kindOf(input).lacks).map(({ name }) => name);
  say([readable(error.message, files), at("alert").textContent].filter(Boolean).join(". "));
}

// Models

const chosen = () => models.find((model) => model.name === select.value);
const askable = ({ inputs }) => inputs.length > 0 && inputs.every(({ type }) => type === "string");

async function loadModels(signal) {
  const found = (await fetchJson("/page/models.json", { token: token.value, signal })).models;
  if (!found.length) say("No model is available yet.");
  if (JSON.stringify(found) === JSON.stringify(models)) return;
  models = found;
  const name = select.value || wanted?.model;
  const label = (model) => (model.version ? model.name : `${model.name} (not loaded)`);
  select.replaceChildren(...models.map((model) => element("option", { value: model.name }, label(model))));
  if (models.length) choose(name);
}

function choose(name) {
  const known = models.some((model) => model.name === name);
  select.value = known ? name : (models.find(({ version }) => version) ?? models[0]).name;
  describe();
  if (name && !known) say(`There is no model named ${name}.`);
}

/** Says what the model does, which version answers, why another does not, and whether this page can ask it at all. */
function describe() {
  const { name, version, engine, versions, summary, inputs } = chosen();
  const faults = versions.filter(({ error }) => error).map((fault) => `Version ${fault.version}: ${fault.error}`);
  at("about").textContent = version ? [`version ${version}${engine && ` (${ENGINES[engine] ?? engine})`}`, ...faults].join(". ") : "";
  at("summary").textContent = summary;
  offer(chosen());
  if (version) fields.draw(askable(chosen()) ? inputs : []);
  if (version && wanted) fields.fill(wanted.values);
  if (version) wanted = null;
  button.disabled = Boolean(version) && !askable(chosen());
  if (button.disabled) {
    const taken = inputs.map((input) => `${input.name} (${input.type})`).join(", ") || "nothing by default";
    say(`This page supports text, images, clips and audio. ${name} takes ${taken}; query it over REST or gRPC.`);
  } else if (!version) {
    const states = versions.map((one) => `Version ${one.version} is in state ${one.state}.`);
    say(`${name} is not loaded. ${(faults.length ? faults : states).join(" ")}`);
  }
}

/** Buttons for the examples of a model. */
function offer({ name, inputs, examples }) {
  if (offered === JSON.stringify([name, inputs, examples])) return; // a button in focus stays
  offered = JSON.stringify([name, inputs, examples]);
  const questions = examples.map((example, index) => ({ model: name, inputs, values: readAll(inputs, example, index + 1) }));
  at("examples").hidden = !examples.length;
  at("examples").replaceChildren(element("span", { class: "quiet" }, "Try"), ...questions.map(again));
}

// Questions: { model, inputs, values }

/** Asks what is in the fields; an example that is being shown gives way. */
async function submit() {
  if (running?.shows) await stop();
  work(ask);
}

/** Shows the first example of a model, with its answer: nobody asked it, so it is neither remembered nor linked to. */
async function showExample(signal) {
  const { inputs, examples } = chosen();
  fields.fill(readAll(inputs, examples[0]));
  fields.select();
  await answerTo({ model: select.value, inputs, values: fields.values }, signal);
}

async function ask(signal) {
  const knew = models.length;
  if (!chosen()?.version) await loadModels(signal); // it may have come up in the meantime
  const model = chosen();
  if (!model?.version || !askable(model)) return model && describe();
  if (!knew && fields.empty) return fields.focus();
  const lacking = fields.lacking();
  if (lacking) return say(lacking);
  const question = { model: model.name, inputs: model.inputs, values: fields.values };
  history.replaceState(null, "", address(question));
  await answerTo(question, signal);
  remember(question);
  await loadModels(signal).catch(() => {}); // a new version may have come
}

async function answerTo({ model: name, inputs, values }, signal) {
  const path = `/v1/models/${encodeURIComponent(name)}:predict`;
  const body = { inputs: await sendAll(inputs, values) };
  const began = performance.now();
  const { outputs } = await fetchJson(path, { body, token: token.value, signal });
  const { outputs: names, score_meaning: scoreMeaning } = chosen();
  const named = names.length === 1 ? { [names[0]]: outputs } : outputs; // a single one comes bare
  const canvases = Object.fromEntries(inputs.map(({ name: input, canvas }) => [input, canvas]));
  const { spoken, details } = answer(named, values, performance.now() - began, { scoreMeaning, canvases });
  show(spoken, details);
}

/** Shows an answer, or none. Its place is always there: a screen reader speaks what changes in a place it knows. */
function show(spoken = [], details = []) {
  at("answer").replaceChildren(...spoken);
  at("details").replaceChildren(...details);
}

function remember(question) {
  const names = Object.keys(question.values);
  const same = ({ model, values }) => model === question.model && names.every((name) => values[name] === question.values[name]);
  asked = [question, ...asked.filter((other) => !same(other))].slice(0, REMEMBERED);
  at("asked").hidden = asked.length < 2;
  at("asked").replaceChildren(...asked.map(again));
}

/** A button that asks a question. */
function again(question) {
  const { model, inputs, values } = question;
  const node = element("button", { type: "button", dir: "auto", title: model }, ...briefly(inputs, values));
  node.addEventListener("click", () => pose(question));
  return node;
}

async function pose(question) {
  await stop();
  say("");
  wanted = question;
  if (models.length) choose(question.model ?? select.value);
  if (!at("alert").textContent) work(ask);
}

// The link: the model, then each text by the name of its input

function link() {
  const pairs = [...new URLSearchParams(location.hash.slice(1))];
  const first = pairs.findIndex(([name]) => name === "model");
  const [[, model] = []] = first < 0 ? [] : pairs.splice(first, 1); // an input may have this name too
  return { model, values: Object.fromEntries(pairs) };
}

function address({ model, values }) {
  const texts = Object.entries(values).filter(([, value]) => typeof value === "string");
  return `#${new URLSearchParams([["model", model], ...texts])}`;
}

// What the person does

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (form.classList.contains("slow") && !running?.shows) stop();
  else submit();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") stop();
});
select.addEventListener("change", async () => {
  await stop();
  say("");
  show();
  wanted = null;
  describe();
  history.replaceState(null, "", address({ model: select.value, values: fields.values }));
});
addEventListener("hashchange", () => pose(link()));

work(async (signal) => {
  const full = Object.values(wanted.values).some(Boolean);
  await loadModels(signal);
  fields.focus();
  if (at("alert").textContent) return;
  if (full) await ask(signal);
  else if (chosen()?.examples.length && !button.disabled) setTimeout(() => work(showExample, true));
});
