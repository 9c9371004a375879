"""The pages under `docs/`: their blocks of Python, and the commands that they show."""

import re
import shlex
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def python_of(page):
    """The blocks of Python, in order."""
    return re.findall(r"```python\n(.*?)```", text_of(page), re.S)


def commands_of(page):
    """The arguments of each `seqattn` command of the consoles, in order."""
    consoles = "".join(re.findall(r"```console\n(.*?)```", text_of(page), re.S)).replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in consoles.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("seqattn ")]
