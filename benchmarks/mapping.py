"""`seqattn map` of 200 000 words with `pronounce`: two processes beside one, each with one thread of TensorFlow.

Words a second are those of the whole command, and those after its first part, when models are loaded. Memory is the
peak of the process that took the most, after a quarter of the parts and at the end.
"""

import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from seqattn_tf.training.data.corpora import cmudict

WORDS, SHARD = 200_000, 2000
FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "cmudict"


def words(path: Path, count: int) -> Path:
    """A text of the words of the dictionary, in its order, again and again."""
    known = dict.fromkeys(example.inputs["text"] for example in cmudict.load(FOLDER if FOLDER.is_dir() else None).train)
    path.write_text("".join(f"{word}\n" for word in itertools.islice(itertools.cycle(known), count)))
    return path


def peak(parent: int) -> float:
    """Megabytes of the child of a process that took the most so far."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            told = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue  # it has ended
        if int(told["PPid"]) == parent and "VmHWM" in told:
            most = max(most, int(told["VmHWM"].split()[0]))
    return most / 1e3


def mapped(source: Path, output: Path, processes: int, count: int) -> tuple[float, float]:
    """Words a second, of the whole command and after the first part; prints them, and memory."""
    shards, began = -(-count // SHARD), time.perf_counter()
    first, quarter, end = 0.0, 0.0, 0.0
    command = [sys.executable, "-m", "seqattn_tf.cli", "map", "pronounce", str(source), str(output)]
    options = ["--processes", str(processes), "--shard-rows", str(SHARD)]
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while running.poll() is None:
            time.sleep(0.2)
            done = len(list(output.with_name(f"{output.name}.parts").glob("part-*")))
            first = first or (time.perf_counter() if done else 0.0)
            end = max(end, peak(running.pid))
            quarter = quarter or (end if done >= shards / 4 else 0.0)
    if running.returncode:
        raise RuntimeError(f"seqattn map: expected status 0. Received: {running.returncode}")
    now = time.perf_counter()
    whole, after = count / (now - began), (count - SHARD) / (now - first)
    print(
        f"{processes} process{'es' if processes > 1 else '  '}  {now - began:6.0f} s   {whole:6.0f} words/s, "
        f"{after:6.0f} after the first part   peak {quarter:5.0f} MB after a quarter, {end:5.0f} MB at the end",
        flush=True,
    )
    return whole, after


def main(count: int = WORDS) -> None:
    """One process, then two."""
    with tempfile.TemporaryDirectory() as place:
        source = words(Path(place) / "words.txt", count)
        outputs = [Path(place) / f"{number}.jsonl" for number in (1, 2)]
        one, two = (mapped(source, output, number, count) for number, output in enumerate(outputs, 1))
        print(f"two beside one: {two[0] / one[0]:.2f}x, {two[1] / one[1]:.2f}x after the first part")
        print(f"the same bytes: {outputs[0].read_bytes() == outputs[1].read_bytes()}")
