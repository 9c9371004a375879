// Talks to the model server: JSON both ways, a refusal as an error with its HTTP status.

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status; // 0: nobody answered
  }
}

export async function fetchJson(path, { body, token, signal } = {}) {
  const headers = {};
  if (body) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  let reply, text;
  try {
    const method = body ? "POST" : "GET";
    reply = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body), redirect: "error" });
    text = await reply.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server is not responding. Your input is still here; try again when the server is back.");
  }
  let document;
  try {
    document = parse(text);
  } catch {
    throw new Refusal(reply.status, `The server returned status ${reply.status} and a body that is not JSON.`);
  }
  if (!reply.ok) throw new Refusal(reply.status, document?.error ?? `The server returned status ${reply.status}.`);
  return document;
}

/** JSON as model servers write it: numbers may be NaN or infinite. */
function parse(text) {
  const strict = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?NaN|-?Infinity/g, (part) => {
    if (part.startsWith('"')) return part;
    return part.endsWith("NaN") ? "null" : part.replace("Infinity", "1e999");
  });
  return JSON.parse(strict);
}
