"""Write everything that trains a recipe on a machine without TensorFlow."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from seqattn_tf.training.checkpoints import state_of
from tools.gpu import buckets, lane
from tools.gpu.lane import Chosen
from tools.gpu.lowering import lower_step
from tools.gpu.table import check_rows, check_supported, lengths_of, narrow, plan, tables


def prepare(chosen: Chosen, folder: Path, most_buckets: int = 6, most_mib: int = 64) -> dict[str, Any]:
    """Write the steps, the initial state and the data of a training into a new folder, and return its description.

    Args:
        chosen: The training.
        folder: The folder to create.
        most_buckets: The maximum number of shapes that batches are padded to, each of which is a program.
        most_mib: The maximum MiB of the folder.

    Raises:
        ValueError: If the recipe is not supported, or the folder would be too large.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder}: expected a new or empty folder. Received: one with files")
    training, about = chosen.open()
    check_supported(training)
    rows = plan(training)
    lengths = lengths_of(training, rows)
    shapes, program_of = buckets.choose(lengths.reshape(-1, lengths.shape[-1]), most_buckets)
    arrays = tables(training, shapes.max(axis=0), most_mib)
    place = np.zeros(int(training.rows.max()) + 1, np.int64)
    place[training.rows] = np.arange(len(training.rows))

    network, constants = training.model.network, []
    variables = state_of(network)
    steps, batches = [], []
    for number, shape in enumerate(shapes):
        example = rows.reshape(len(program_of), -1)[int(np.flatnonzero(program_of == number)[0])]
        batch = check_rows(training, example, shape, [table.rows(place[example]) for table in arrays])
        steps.append(lower_step(network, variables, batch, constants))
        flat = tf.nest.flatten(batch)
        batches.append({"shapes": [list(t.shape) for t in flat], "dtypes": [t.dtype.name for t in flat]})
        print(
            f"step {number + 1} of {len(shapes)}: lengths {shape.tolist()}, {int((program_of == number).sum())} batches"
        )
    state = [variable.numpy() for variable in variables] + [constant.numpy() for constant in constants]
    changed = {index for step in steps for index in step.results}
    metrics = {id(variable) for variable in network.metrics_variables}
    spec = {
        **about,
        "chosen": chosen.as_json(),
        "symbols": training.symbols,
        "state": [{"shape": list(array.shape), "dtype": array.dtype.name} for array in state],
        "reset": [index for index, variable in enumerate(variables) if id(variable) in metrics],
        "kept": list(lane.kept(training, changed)),
        "programs": batches,
    }
    data = {name: array for number, table in enumerate(arrays) for name, array in table.arrays(number).items()}
    data |= {"rows": narrow(place[rows]), "program": narrow(program_of.reshape(rows.shape[:2]))}
    return lane.write(folder, spec, steps, state, most_mib, **data)
