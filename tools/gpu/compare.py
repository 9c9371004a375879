"""Run what `benchmarks.devices` has written on a GPU and on the CPU, with JAX alone.

    python tools/gpu/compare.py FOLDER [NAME ...]     # the cases whose names contain one of these, or all cases

Prints a line for each family with its largest difference, and every case that differs by more than 1e-3 or is finite on
one side only. Differences are relative to one plus the absolute value on the CPU. To copy this file to another
machine, copy `run.py`, too.
"""

import collections
import concurrent.futures
import json
import lzma
import sys
import time
from pathlib import Path

import jax
import numpy as np
from run import compile_module, module_of  # beside this file, which is run as a script

LARGEST = 1e-3


def compiled(path, device):
    """Compile the program in a file for a device; return a function from arrays to arrays."""
    program = compile_module(module_of(lzma.decompress(path.read_bytes())), device)
    return lambda arrays: [np.asarray(array) for array in program(arrays)]


def drawn(inputs, seed=0):
    """Return random inputs: normally distributed floats, and integers below their bounds."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, bound, shape).astype("int32") if bound else np.asarray(rng.normal(size=shape), "float32")
        for shape, bound in inputs
    ]


def difference(here, there):
    """Return the largest difference among all results; infinite if a value is finite on one side only."""
    worst = 0.0
    for a, b in zip(here, there, strict=True):
        if a.dtype.kind != "f":
            a, b = a.astype("float64"), b.astype("float64")
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            apart = np.where(same, 0.0, np.abs(a - b) / (1 + np.abs(b)))
        worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0)))
    return worst


def trained(run, path, inputs, steps):
    """Return the losses of training steps that start from the weights in a file."""
    saved = np.load(path)
    weights = [saved[name] for name in saved.files]
    state = [*weights, *[np.zeros_like(w) for w in weights] * 2]
    losses = []
    for step in range(steps):
        batch = drawn(inputs[len(state) : -1], seed=step)
        *state, loss = run([*state, *batch, np.float32(step + 1)])
        losses.append(loss)
    return np.array(losses)


def main():
    """Compare all cases."""
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    index = json.loads((folder / "index.json").read_text())
    names = [n for n in index if not wanted or any(w in n for w in wanted)]
    names.sort(key=lambda n: -index[n]["steps"])
    cpu, gpu = jax.devices("cpu")[0], jax.devices()[0]
    started = time.time()

    def one(name):
        path, inputs, steps = folder / f"{name}.hlo.xz", index[name]["inputs"], index[name]["steps"]
        try:
            found = []
            for device in (cpu, gpu):
                run = compiled(path, device)
                found.append(trained(run, folder / f"{name}.npz", inputs, steps) if steps else run(drawn(inputs)))
            return found
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:300]}"

    families = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(14) as pool:
        for name, found in zip(names, pool.map(one, names), strict=True):
            if isinstance(found, str):
                print("FAILED", name, found, flush=True)
                continue
            there, here = found
            if index[name]["steps"]:
                text = " ".join(f"{here[i]:.5f}/{there[i]:.5f}" for i in (0, 9, 49, 99, -1))
                apart = np.abs(here - there).max()
                print(f"{name}: loss gpu/cpu {text}, largest difference {apart:.1e}, finite {np.isfinite(here).all()}")
                continue
            worst = difference(here, there)
            families[name.rsplit("_", 1)[0]].append((worst, name))
            if not worst <= LARGEST:
                print(f"DIFFERS {name}: {worst:.2e}", flush=True)
    for family, rows in families.items():
        worst, name = max(rows)
        print(f"{family}: {len(rows)} sizes, largest difference {worst:.1e} ({name})")
    print(f"{len(names)} cases on {gpu} and {cpu} in {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
