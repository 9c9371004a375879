"""`seqattn map` of 200 000 words with `pronounce`: two processes compared with one, and Keras compared with LiteRT.

Each process has one thread. Words per second are given for the whole command, and for the time after its first part,
when models are loaded. Memory is the peak of the largest process, after a quarter of the parts and at the end.
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
    """Write a file with the words of the dictionary in order, repeated up to this count; return its path."""
    known = dict.fromkeys(example.inputs["text"] for example in cmudict.load(FOLDER if FOLDER.is_dir() else None).train)
    path.write_text("".join(f"{word}\n" for word in itertools.islice(itertools.cycle(known), count)))
    return path


def peak(parent: int) -> float:
    """Return the peak memory, in megabytes, of the largest child process so far."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            told = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue  # the process has ended
        if int(told["PPid"]) == parent and "VmHWM" in told:
            most = max(most, int(told["VmHWM"].split()[0]))
    return most / 1e3


def mapped(source: Path, output: Path, processes: int, engine: str, count: int) -> tuple[float, float]:
    """Return words per second, of the whole command and after the first part; print them and the memory."""
    shards, began = -(-count // SHARD), time.perf_counter()
    first, quarter, end = 0.0, 0.0, 0.0
    command = [sys.executable, "-m", "seqattn_tf.cli", "map", "pronounce", str(source), str(output)]
    options = ["--processes", str(processes), "--shard-rows", str(SHARD), "--engine", engine]
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
        f"{engine:<7} {processes} process{'es' if processes > 1 else '  '}  {now - began:6.0f} s   "
        f"{whole:6.0f} words/s, "
        f"{after:6.0f} after the first part   peak {quarter:5.0f} MB after a quarter, {end:5.0f} MB at the end",
        flush=True,
    )
    return whole, after


def main(count: int = WORDS) -> None:
    """Run one process, then two, with each engine."""
    with tempfile.TemporaryDirectory() as place:
        source = words(Path(place) / "words.txt", count)
        for engine in ("litert", "keras"):
            outputs = [Path(place) / f"{engine}-{number}.jsonl" for number in (1, 2)]
            one, two = (mapped(source, output, number, engine, count) for number, output in enumerate(outputs, 1))
            print(f"two beside one: {two[0] / one[0]:.2f}x, {two[1] / one[1]:.2f}x after the first part")
            print(f"the same bytes: {outputs[0].read_bytes() == outputs[1].read_bytes()}")
