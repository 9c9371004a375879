// A box that scrolls, with a sign at each edge beyond which it goes on.

import { element } from "../dom.js";

export function framed(box) {
  const frame = element("div", { class: "frame" }, box);
  const tellOfMore = () => {
    frame.classList.toggle("right", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    frame.classList.toggle("down", box.scrollTop + box.clientHeight < box.scrollHeight - 2);
  };
  new ResizeObserver(tellOfMore).observe(box);
  box.addEventListener("scroll", tellOfMore, { passive: true });
  return frame;
}
