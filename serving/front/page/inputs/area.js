// A text area, for the kinds that are written. `asks(event)` says whether a press of Enter asks.

import { element } from "../dom.js";

export function written({ rows, asks, ...more }) {
  return {
    make({ id, note, ask }) {
      const node = element("textarea", {
        id, rows, dir: "auto", spellcheck: "false", autocapitalize: "off", "aria-describedby": note,
      });
      node.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.isComposing || !asks(event)) return;
        event.preventDefault();
        if (!event.repeat) ask();
      });
      return {
        node,
        get value() { return node.value; },
        set value(text) { node.value = text ?? ""; },
        focus: () => node.focus(),
        select: () => node.select(),
      };
    },
    read: (sent) => (typeof sent === "string" ? sent : ""),
    send: (text) => text,
    brief: (text) => text,
    ...more,
  };
}
