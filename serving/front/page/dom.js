// Makes elements. Text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

export const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const drawn = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const mathml = (tag, attributes = {}, ...children) => fill(document.createElementNS(MATHML, tag), attributes, children);

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

function fill(node, attributes, children) {
  set(node, attributes).append(...children);
  return node;
}

/** Gives `node` the tone of a share from 0 to 1; the ramp itself is in page.css, one for light and one for dark. */
export function shade(node, share) {
  node.classList.add("shade");
  node.classList.toggle("deep", share > 0.6);
  node.style.setProperty("--first", Math.min(1, 2 * share));
  node.style.setProperty("--second", Math.max(0, 2 * share - 1));
}

export function unshade(node) {
  node.classList.remove("shade", "deep");
}

/** Shows a file in images; resolves to whether it could be shown. */
export async function showFile(images, file) {
  const address = URL.createObjectURL(file);
  const shown = await Promise.allSettled(images.map((image) => {
    image.src = address;
    return image.decode();
  }));
  URL.revokeObjectURL(address);
  return shown.every(({ status }) => status === "fulfilled");
}

/** Text in which keys are lists: ["Enter"] becomes a key, " asks" stays text. */
export const withKeys = (parts) => parts.map((part) => (Array.isArray(part) ? element("kbd", {}, ...part) : part));
