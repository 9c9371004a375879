"""A static HTML page of questions, answers and figures that works offline, in light and dark mode."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from string import Template
from urllib.parse import quote

from seqattn_tf.core.atomic_io import write_atomically


@dataclass(frozen=True)
class Entry:
    """One card of the page."""

    source: str  # the input of the model
    answer: str  # the answer of the model
    score: float  # the score of the answer, in the model's own unit
    picture: str  # file name of the figure, relative to the page; empty for none
    note: str = ""  # a note below the answer, such as the reference


def write_page(
    path: str | os.PathLike, title: str, intro: str, entries: Sequence[Entry], facts: Mapping[str, object]
) -> None:
    """Write the page to `path` atomically, and create its parent folders. All text is escaped.

    Args:
        path: The path of the page; the file names of figures are relative to its folder.
        title: The heading and the title of the window.
        intro: One paragraph below the heading.
        entries: The cards, in the order shown.
        facts: Labels and values, shown as a small table if there are any.
    """
    html = _PAGE.substitute(
        title=escape(title),
        intro=f"<p class=intro>{escape(intro)}</p>" if intro else "",
        facts=_facts(facts) if facts else "",
        cards="\n".join(map(_card, entries)) or "<p class=quiet>nothing to show</p>",
    )
    with write_atomically(path) as aside:
        aside.write_text(html, encoding="utf-8", errors="replace", newline="\n")


def _facts(facts: Mapping[str, object]) -> str:
    rows = (
        f"<tr><th scope=row>{escape(str(label))}</th><td>{escape(str(value))}</td></tr>"
        for label, value in facts.items()
    )
    return "\n".join(["<table>", *rows, "</table>"])


def _card(entry: Entry) -> str:
    if entry.picture.startswith(("/", "\\")):
        raise ValueError(f"Expected a picture's file name relative to the page. Received: {entry.picture!r}")
    source, answer = escape(entry.source), escape(entry.answer)
    address = quote(entry.picture, errors="replace")  # also quotes colons, so that the address has no scheme or host
    picture = f'<img src="{address}" alt="alignment of {answer} with {source}" loading=lazy>'
    return "\n".join(
        [
            "<article>",
            f"<header><h2>{source}</h2><span class=score>score {entry.score:.3g}</span></header>",
            f"<p class=answer>{answer}</p>",
            f"<p class=quiet>{escape(entry.note)}</p>" if entry.note else "",
            f"<div class=picture>{picture}</div>" if entry.picture else "",
            "</article>",
        ]
    )


_PAGE = Template("""\
<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<meta name=color-scheme content="light dark">
<title>$title</title>
<style>
:root { --paper: #f6f8fb; --card: #fff; --ink: #1c2430; --quiet: #5d6878; --line: #dfe5ee; --accent: #14498a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #10151d; --card: #19212c; --ink: #e7ecf3; --quiet: #9aa6b6; --line: #2b3645; --accent: #93bae2; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 3rem 1.5rem 4rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.015em; }
h2, .answer, td { overflow-wrap: anywhere; }
.intro { max-width: 44rem; margin: .7rem 0 0; color: var(--quiet); white-space: pre-line; }
table { margin: 1.6rem 0 0; border-collapse: collapse; font-size: .92rem; }
th, td { padding: .3rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
tr:last-child > * { border-bottom: 1px solid var(--line); }
th { padding-right: 2.5rem; font-weight: 400; color: var(--quiet); }
td { font-variant-numeric: tabular-nums; }
main { margin-top: 2.2rem; columns: 22rem 3; column-gap: 1.2rem; }
article { display: inline-block; width: 100%; margin: 0 0 1.2rem; padding: 1.1rem 1.2rem 1.2rem;
          background: var(--card); border: 1px solid var(--line); border-radius: 12px; break-inside: avoid; }
header { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; }
h2 { margin: 0; font-size: 1.05rem; font-weight: 600; line-height: 1.4; white-space: pre-wrap; }
.score { flex: none; color: var(--quiet); font-size: .85rem; font-variant-numeric: tabular-nums; }
.answer { margin: .15rem 0 0; color: var(--accent); white-space: pre-wrap;
          font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.quiet { margin: .35rem 0 0; color: var(--quiet); font-size: .88rem; }
.picture { margin-top: .9rem; padding: .5rem; background: #fff; border-radius: 8px; text-align: center; }
.picture img { display: block; max-width: 100%; max-height: 26rem; margin: auto; }
@media (prefers-color-scheme: light) { .picture { padding: 0; } }
</style>
<h1>$title</h1>
$intro
$facts
<main>
$cards
</main>
</html>
""")
