"""Train what `python -m tools.gpu prepare` has written, on a machine that has only JAX and NumPy.

    python run.py LANE OUT                              # all epochs; keep the weights of the last three
    python run.py LANE OUT --keep 6 --every 2 --half    # of every second epoch, in half precision

Every step is one program that TensorFlow has lowered: forward and backward pass, clipping, optimizer and the seeds of
dropout. `OUT/run.json` describes the training and the saved weights; it is complete after every epoch, so a training
that is interrupted can be used up to the last one. Copy this file to the other machine; it imports nothing of ours.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import io
import json
import lzma
import os
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src.lib import xla_client as xc

jax.config.update("jax_enable_x64", True)  # TensorFlow's seeds and counters have 64 bits

FORMAT = 1
_AHEAD = 32  # the number of steps that may be queued on the device
MIB = 2**20


def module_of(hlo: bytes) -> Any:
    """Convert serialized HLO to a module that can be compiled. JAX 0.11.2 crashes if several threads do so at once."""
    return xc._xla.mlir.xla_computation_to_mlir_module(xc.XlaComputation(hlo))


def compile_module(module: Any, device: Any) -> Callable[[Sequence[Any]], list[Any]]:
    """Compile a module for a device; return a function from arrays to arrays on this device."""
    devices = xc.DeviceList((device,)) if hasattr(xc, "DeviceList") else [device]
    program = device.client.compile_and_load(module, devices, xc.CompileOptions())
    return lambda arrays: program.execute(
        [array if isinstance(array, jax.Array) else jax.device_put(array, device) for array in arrays]
    )


class Lane:
    """The content of a folder that `prepare` has written.

    Args:
        folder: The folder.

    Raises:
        ValueError: If the folder is incomplete, or of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.spec = json.loads((folder / "lane.json").read_text(encoding="utf-8"))
            if self.spec["format"] != FORMAT:
                raise ValueError(f"{folder}: expected a lane of format {FORMAT}. Received: {self.spec['format']}")
            for name, digest in self.spec["files"].items():
                if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                    raise ValueError(f"{folder / name}: expected the file that `prepare` wrote. Received: another one")
            with np.load(folder / "data.npz") as data:
                self.tables = [data[name] for name in sorted(data.files) if name.startswith("table")]
                self.palettes = {int(name[7:]): data[name] for name in data.files if name.startswith("palette")}
                self.rows, self.program_of = data["rows"], data["program"]
        except (OSError, KeyError, json.JSONDecodeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{folder}: expected a folder that `prepare` wrote. Received: {error!r}") from None

    @property
    def steps(self) -> int:
        """The number of steps of an epoch."""
        return self.rows.shape[1]

    def state(self) -> list[np.ndarray]:
        """Return the state that training starts from; arrays that are not in the file are zero."""
        with np.load(self.folder / "state.npz") as stored:
            return [
                stored[f"{number:04d}"] if f"{number:04d}" in stored.files else np.zeros(one["shape"], one["dtype"])
                for number, one in enumerate(self.spec["state"])
            ]

    def batch(self, epoch: int, step: int) -> list[np.ndarray]:
        """Return the tensors of a batch, each padded to the length of the program of this step."""
        program, rows = self.spec["programs"][self.program_of[epoch, step]], self.rows[epoch, step]
        found = []
        for number, (table, shape) in enumerate(zip(self.tables, program["shapes"], strict=True)):
            values = table[(rows, *map(slice, shape[1:]))]
            values = self.palettes[number][values] if number in self.palettes else values
            found.append(values.astype(program["dtypes"][number]))
        return found


class Trainer:
    """The state of a training on a device, and its compiled steps.

    Args:
        lane: The lane.
        device: The device.
    """

    def __init__(self, lane: Lane, device: Any) -> None:
        self.lane, self.device = lane, device
        self.state: list[Any] = [jax.device_put(array, device) for array in lane.state()]
        self.zeros = {number: np.zeros_like(self.state[number]) for number in lane.spec["reset"]}

        files = [lane.folder / program["file"] for program in lane.spec["programs"]]
        modules = [module_of(lzma.decompress(file.read_bytes())) for file in files]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.programs = list(pool.map(lambda module: compile_module(module, device), modules))

    def begin_epoch(self) -> None:
        """Set the sums of the loss to zero, as `fit` does."""
        for number, zero in self.zeros.items():
            self.state[number] = jax.device_put(zero, self.device)

    def step(self, epoch: int, step: int) -> Any:
        """Run a step, and return the mean loss of the epoch so far, which may still be computed."""
        number = self.lane.program_of[epoch, step]
        program = self.lane.spec["programs"][number]
        given = [self.state[index] for index in program["parameters"]]
        loss, *changed = self.programs[number]([*self.lane.batch(epoch, step), *given])
        for index, value in zip(program["results"], changed, strict=True):
            self.state[index] = value
        return loss

    def weights(self, half: bool) -> dict[str, np.ndarray]:
        """Return the arrays that become the model, in half precision if wanted."""
        arrays = {f"{number:04d}": np.asarray(self.state[number]) for number in self.lane.spec["kept"]}
        return {
            name: array.astype("float16") if half and array.dtype == np.float32 else array
            for name, array in arrays.items()
        }


class Output:
    """The folder with the weights of the last epochs, and its description.

    Args:
        folder: The folder to write.
        about: What the description starts with.
        keep: The maximum number of epochs to keep.
        part: The maximum number of bytes of a file.
    """

    def __init__(self, folder: Path, about: dict[str, Any], keep: int, part: int) -> None:
        self.folder, self.keep, self.part = folder, keep, part
        self.about = {"format": FORMAT, **about, "history": [], "saved": []}
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ValueError(f"{folder}: expected an empty folder. Received: {len(list(folder.iterdir()))} files")

    def save(self, epoch: int, weights: dict[str, np.ndarray]) -> None:
        """Write the weights of an epoch, and delete those of the oldest one if there are too many."""
        whole, parts = io.BytesIO(), []
        np.savez(whole, allow_pickle=False, **weights)
        data = whole.getvalue()
        for number, start in enumerate(range(0, len(data), self.part)):
            path, content = self.folder / f"epoch-{epoch:04d}-{number}.part", data[start : start + self.part]
            path.write_bytes(content)
            parts.append({"file": path.name, "sha256": hashlib.sha256(content).hexdigest()})
        self.about["saved"].append({"epoch": epoch, "parts": parts})
        for old in self.about["saved"][: -self.keep]:
            for part in old["parts"]:
                (self.folder / part["file"]).unlink()
        del self.about["saved"][: -self.keep]

    def describe(self, **more: Any) -> None:
        """Write `run.json`, as a whole or not at all."""
        self.about |= more
        aside = self.folder / "run.json.tmp"
        aside.write_text(json.dumps(self.about), encoding="utf-8")
        aside.replace(self.folder / "run.json")


class Bar:
    """A progress bar with the time left: one line on a terminal, a line every 20 seconds in a file."""

    def __init__(self, total: int) -> None:
        self.total, self.began, self.shown = total, time.monotonic(), 0.0
        self.interval = 0.5 if sys.stderr.isatty() else 20.0

    def show(self, done: int, loss: Any) -> None:
        """Print the progress if it is due."""
        now = time.monotonic()
        if done < self.total and now - self.shown < self.interval:
            return
        self.shown, spent = now, now - self.began
        left = spent / done * (self.total - done)
        filled = 30 * done // self.total
        text = f"[{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total} steps, {left:.0f} s left, "
        text += f"{done / spent:.1f} steps/s, loss {float(loss):.4f}"
        print(f"\r{text} " if self.interval < 1 else text, end="" if self.interval < 1 else "\n", file=sys.stderr)


def train(lane: Lane, out: Path, options: argparse.Namespace) -> Path:
    """Train and write the weights.

    Raises:
        ValueError: If the weights would take too much space, or if the loss is not finite.
    """
    device, epochs = jax.devices()[0], min(options.epochs or lane.rows.shape[0], lane.rows.shape[0])
    size = sum(_bytes(lane.spec["state"][number], options.half) for number in lane.spec["kept"])
    if size * options.keep > options.total_mib * MIB:
        received = f"{options.keep} epochs of {size / MIB:.1f} MiB"
        raise ValueError(f"weights: expected at most {options.total_mib} MiB. Received: {received}; use --keep, --half")
    machine = {"device": device.device_kind, "jax": jax.__version__}
    about = {"lane": lane.spec["id"], "machine": machine, "half": options.half}
    output, began = Output(out, about, options.keep, options.part_mib * MIB), time.monotonic()
    trainer = Trainer(lane, device)
    print(f"{len(trainer.programs)} programs compiled for {device.device_kind} in {time.monotonic() - began:.0f} s")
    bar, began = Bar(epochs * lane.steps), time.monotonic()
    for epoch in range(epochs):
        begun, queued = time.monotonic(), collections.deque[Any]()
        trainer.begin_epoch()
        for step in range(lane.steps):
            queued.append(trainer.step(epoch, step))
            if len(queued) > _AHEAD:
                bar.show(epoch * lane.steps + step + 1 - _AHEAD, queued.popleft().block_until_ready())
        loss = float(queued[-1])
        logs = {"loss": loss, "steps_per_second": lane.steps / (time.monotonic() - begun)}
        bar.show((epoch + 1) * lane.steps, loss)
        print(f"epoch {epoch + 1}/{epochs}  loss {loss:.4f}  {logs['steps_per_second']:.1f} steps/s", flush=True)
        if not np.isfinite(loss):
            raise ValueError(f"loss: expected a finite number. Received: {loss} in epoch {epoch + 1}")
        late = bool(options.minutes) and time.monotonic() - began > options.minutes * 60
        if (epochs - 1 - epoch) % options.every == 0 or late:
            output.save(epoch + 1, trainer.weights(options.half))
        output.about["history"].append(logs)
        output.describe(seconds=time.monotonic() - began)
        if late:
            print(f"stopped after {options.minutes:g} minutes")
            break
    return out


def _bytes(array: dict[str, Any], half: bool) -> int:
    size = 2 if half and array["dtype"] == "float32" else np.dtype(array["dtype"]).itemsize
    return size * int(np.prod(array["shape"], dtype=np.int64))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description="Train what `python -m tools.gpu prepare` has written.")
    parser.add_argument("lane", type=Path, metavar="LANE", help="the folder that `prepare` wrote")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder to write, which `finish` reads")
    parser.add_argument("--epochs", type=int, default=0, metavar="N", help="stop after N epochs (default: all)")
    parser.add_argument(
        "--minutes", type=float, default=0, metavar="N", help="stop after the epoch that ends N minutes"
    )
    parser.add_argument("--keep", type=int, default=3, metavar="N", help="epochs whose weights are kept (default: 3)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="save every N-th epoch, and the last one")
    parser.add_argument("--half", action="store_true", help="write the weights in half precision")
    parser.add_argument("--part-mib", type=int, default=16, metavar="N", help="maximum MiB of a file (default: 16)")
    parser.add_argument("--total-mib", type=int, default=64, metavar="N", help="maximum MiB of all files (default: 64)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Train; invalid input prints a message and returns status 2."""
    options = parser().parse_args(arguments)
    try:
        for name in ("keep", "every", "part_mib", "total_mib"):
            if getattr(options, name) < 1:
                raise ValueError(f"{name}: expected at least 1. Received: {getattr(options, name)}")
        train(Lane(options.lane), options.out, options)
    except (ValueError, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
