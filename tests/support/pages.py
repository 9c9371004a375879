"""The Python blocks and the commands in README and the pages under `docs/`."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ["README.md", *sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))]


def text_of(page):
    return (ROOT / page if page == "README.md" else DOCS / page).read_text(encoding="utf-8")


def python_of(page):
    """Return the blocks of Python, in order."""
    return re.findall(r"```python\n(.*?)```", text_of(page), re.S)


def commands_of(page):
    """Return the arguments of each `seqattn` command in the blocks of a page, in order, without comments and `...`."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text_of(page), re.S | re.M)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    shown = [found[1] for line in lines if (found := re.match(r"(?:\$ |srun .*)?seqattn (\w+(?: .*)?)$", line))]
    return [[part for part in shlex.split(command, comments=True) if part != "..."] for command in shown]
