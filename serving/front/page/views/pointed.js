// What is pointed at, by mouse or by keyboard.

/** Which row and column are pointed at; -1: none. Tells whoever listens for "change". */
export class Pointed extends EventTarget {
  row = -1;
  column = -1;

  at(row, column) {
    if (row === this.row && column === this.column) return;
    Object.assign(this, { row, column });
    this.dispatchEvent(new Event("change"));
  }
}

/** Points at the words of a text: `nodes` in order, inside a `box` that takes the keys; `moves` lead elsewhere by key. */
export function walk(box, nodes, pointed, moves = {}) {
  const point = (column) => pointed.at(-1, column);
  nodes.forEach((node, column) => {
    for (const event of ["pointerenter", "pointerdown"]) node.addEventListener(event, () => point(column));
  });
  box.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && point(-1));
  box.addEventListener("blur", () => point(-1));
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const own = pointed.column >= 0 && moves[event.key];
    const next = own ? own(pointed.column) : step(event.key, nodes, pointed.column);
    if (next === undefined) return;
    event.preventDefault();
    point(next);
    nodes[next]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  pointed.addEventListener("change", () => {
    nodes.forEach((node, column) => node.classList.toggle("pointed", column === pointed.column));
  });
}

function step(key, nodes, at) {
  if (at < 0) return key.startsWith("Arrow") || key === "Home" ? 0 : undefined;
  const onward = getComputedStyle(nodes[at].parentNode).direction === "rtl" ? -1 : 1;
  const beside = (side) => Math.max(0, Math.min(nodes.length - 1, at + side * onward));
  const moves = {
    ArrowLeft: () => beside(-1),
    ArrowRight: () => beside(1),
    ArrowUp: () => across(nodes, at, -1),
    ArrowDown: () => across(nodes, at, 1),
    Home: () => 0,
    End: () => nodes.length - 1,
    Escape: () => -1,
  };
  return moves[key]?.();
}

/** The nearest word of the row above or below, where there is one. */
function across(nodes, at, side) {
  const boxes = nodes.map((node) => node.getBoundingClientRect());
  const away = ({ top, bottom }) => side * ((top + bottom) / 2 - (boxes[at].top + boxes[at].bottom) / 2);
  const rows = boxes.map(away).filter((distance) => distance > boxes[at].height / 2);
  const nearest = Math.min(...rows) + boxes[at].height / 2;
  const there = [...boxes.keys()].filter((each) => away(boxes[each]) > boxes[at].height / 2 && away(boxes[each]) < nearest);
  const aside = (each) => Math.abs(boxes[each].left - boxes[at].left);
  return there.length ? there.reduce((best, each) => (aside(each) < aside(best) ? each : best)) : undefined;
}
