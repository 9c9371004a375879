"""Checks of every view of the page: everything has a name, and text has sufficient contrast."""

import numpy as np

CHECKS = """() => {
  const wrong = [];
  const seen = (node) => node.checkVisibility();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  if (document.documentElement.lang !== "en") wrong.push("no language");
  if (!document.title) wrong.push("no title");
  if (all("h1").length !== 1) wrong.push("not one h1");
  if (all("main").length !== 1 || all("header").length !== 1) wrong.push("landmarks");
  for (const field of all("input, select, textarea")) if (!field.labels.length) wrong.push(`no label: ${field.id}`);
  for (const button of all("button")) if (!button.textContent.trim()) wrong.push("a button without a name");
  for (const region of all("section, form, [role=group], [role=application], [role=region]"))
    if (!region.getAttribute("aria-label")) wrong.push(`no name: ${region.tagName}`);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) wrong.push("a table without a caption");
    if (!table.querySelector("th")) wrong.push("a table without headers");
    for (const head of table.querySelectorAll("th")) if (!head.scope) wrong.push("a header without a scope");
  }
  for (const node of document.querySelectorAll("[aria-describedby]"))
    for (const id of node.getAttribute("aria-describedby").split(" "))
      if (!document.getElementById(id)) wrong.push("described by nothing");
  if (document.querySelector("[aria-hidden] [tabindex], [aria-hidden][tabindex]")) wrong.push("hidden focus");
  if (document.querySelectorAll("[tabindex]:not([tabindex='0'])").length) wrong.push("an order of its own");
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const live of ["#answer[aria-live=polite]", "[role=alert]"]) if (!document.querySelector(live)) wrong.push(live);
  return wrong;
}"""


def tone(locator, name):
    """Return a computed color as red, green and blue from 0 to 1, whatever its notation."""
    pixel = locator.evaluate(
        """(node, name) => {
          const pen = new OffscreenCanvas(1, 1).getContext("2d");
          pen.fillStyle = getComputedStyle(node)[name];
          pen.fillRect(0, 0, 1, 1);
          return [...pen.getImageData(0, 0, 1, 1).data];
        }""",
        name,
    )
    assert pixel[3] == 255
    return [value / 255 for value in pixel[:3]]


def luminance(colour):
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(*colours):
    """Return the contrast of two colors by WCAG, from 1 to 21."""
    dark, light = sorted(map(luminance, colours))
    return (light + 0.05) / (dark + 0.05)
