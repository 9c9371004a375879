"""bAbI: short stories with questions, and the facts that lead to each answer (Weston et al., 2015)."""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from seqattn_tf.training.data.examples import Example, Splits, hold_out
from seqattn_tf.training.data.finding import check_folder
from seqattn_tf.training.data.reading import Faults, read_text

_WANTED = "bAbI: the archive tasks_1-20_v1-2, or its files qa1_single-supporting-fact_train.txt and so on,"
_DEV_SHARE = 0.1  # the share of the training questions held out for development
_NAME = re.compile(r"qa(\d+)_[\w-]+_(train|test)\.txt")
_LINE = re.compile(r"(\d+) (.*)")


def is_babi(data: str | Path | None) -> bool:
    """Return whether a folder contains bAbI or an archive of it."""
    return data is not None and Path(data).is_dir() and (bool(_archives(Path(data))) or bool(_files(Path(data))))


def _archives(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if re.fullmatch(r"tasks_1-20.*\.tar(\.gz|\.xz|\.bz2)?", path.name))


def _files(folder: Path) -> dict[tuple[int, str], Path]:
    """Return the files by task and part, in the folder itself or in its subfolder `en` (1000 questions per task)."""
    for place in (folder, folder / "en"):
        named = {path: _NAME.fullmatch(path.name) for path in sorted(place.iterdir())} if place.is_dir() else {}
        if found := {(int(match[1]), match[2]): path for path, match in named.items() if match}:
            return found
    return {}


def _texts(folder: Path, task: int) -> dict[str, str]:
    """Return the text of each part of a task."""
    texts = {part: read_text(path) for (number, part), path in _files(folder).items() if number == task}
    for archive in [] if texts else _archives(folder):
        with tarfile.open(archive) as held:
            for member in held:
                path = PurePosixPath(member.name)
                match = _NAME.fullmatch(path.name)
                if match and int(match[1]) == task and path.parent.name == "en":
                    file = held.extractfile(member)
                    texts[match[2]] = file.read().decode("utf-8-sig").replace("\r\n", "\n") if file else ""
    return texts


def load(data: str | Path | None, task: int) -> Splits:
    """Load the questions of one task. The story of a question consists of the facts up to it.

    A tenth of the training questions is held out for development. The notes contain the line numbers, within the story,
    of the facts that lead to each answer, in order.

    Args:
        data: A folder with the archive, or with its files.
        task: The number of the task, from 1 to 20.
    """
    folder = check_folder(data, _WANTED)
    try:
        texts = _texts(folder, task)
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(
            f"{folder}: expected complete files: {_WANTED}. Received: {type(error).__name__}: {error}"
        ) from None
    if missing := [part for part in ("train", "test") if part not in texts]:
        raise ValueError(f"{folder}: expected {_WANTED}. Received: no {missing[0]} file of task {task}")
    notes: dict[str, str] = {}
    parts = {part: list(_questions(text, f"task {task}, {part}", notes)) for part, text in texts.items()}
    train, dev = hold_out(parts["train"], _DEV_SHARE)
    return Splits(train, dev, parts["test"], f"bAbI, task {task}, dev held out of train by hash", notes)


def _questions(text: str, name: str, notes: dict[str, str]) -> Iterator[Example]:
    """Yield the questions of a file. Line numbers restart in every story, and questions are numbered, too."""
    facts: list[str] = []
    lines: dict[str, int] = {}  # the index of the fact with each line number
    faults, good = Faults(name), 0
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        match = _LINE.fullmatch(line.strip())
        cells = match[2].split("\t") if match else []
        if match and match[1] == "1":
            facts, lines = [], {}
        if not match or len(cells) not in (1, 3):
            faults.add(number, "a numbered fact, or a question with its answer and its facts", line)
            continue
        if len(cells) == 1:
            good += 1
            facts.append(cells[0].strip())
            lines[match[1]] = len(facts)
            continue
        question, answer, leading = (cell.strip() for cell in cells)
        if not facts or any(fact not in lines for fact in leading.split()):
            faults.add(number, "the numbers of facts before the question", line)
            continue
        good += 1
        story = "\n".join(facts)
        key = f"{story}\n{question}"
        notes[key] = " ".join(str(lines[fact]) for fact in leading.split())
        yield Example(key, {"story": story, "question": question}, answer)
    faults.close(good, "lines")
