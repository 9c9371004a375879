"""The contract of a model, and the folder that rebuilds it: `config.json`, weights, `assets/`."""

import inspect
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, overload

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.atomic_io import write_atomically, write_json
from seqattn_tf.core.registry import Registered
from seqattn_tf.core.scan import where_rows
from seqattn_tf.encoder import Encoder
from seqattn_tf.explain import draw_answer
from seqattn_tf.inputs import graph_field
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.answer import ATTENTION, PLACES, ROWS, SHAPE, Answer
from seqattn_tf.lite.assets import load_assets, save_assets
from seqattn_tf.lite.fields.base import TOGETHER, Field, row_fault
from seqattn_tf.lite.model_inputs import RowError, answer_each, check_errors, columns
from seqattn_tf.lite.targets import Label, Target
from seqattn_tf.models.weights import pack, unpack
from seqattn_tf.outputs import graph_target
from seqattn_tf.plugins import advice, load_installed, needed_by

WHOLE, COMPACT = "model.keras", "weights.npz"
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
DEFAULT = "serving_default"  # the signature that answers strings
TOKENS = "tokens"  # what looks, where it is the tokens of the answer


class Model(Registered, tf.Module):
    """A whole system: raw inputs in, `Answer` out.

    A subclass names itself, and gives one hook, `infer`. What else makes it up are keyword arguments of its
    constructor, each kept as an attribute of the same name; they are saved with it.

    Args:
        network: the Keras network.
        inputs: what goes in, by name.
        target: what comes out.

    Attributes:
        signatures: what can be asked besides answers: methods by name, with the texts they take after the inputs.
        looks: what looks at an input (or at `INPUT_LEVEL`), by its name: the `tokens` of the answer, another input, or
            rows with fixed names.
        looked_at: the input (or `INPUT_LEVEL`) that a look with another name is at, by that name.
        parts: what `infer` finds besides, by name, with its axes after the batch: the places of an input (or of
            `INPUT_LEVEL`), the `tokens` of the answer, or an empty name for an axis of one size.
    """

    registry: ClassVar[dict[str, type]] = {}
    signatures: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(self, network: keras.Model, inputs: Mapping[str, Field], target: Target) -> None:
        super().__init__()
        if wrong := [name for name in inputs if not _NAME.fullmatch(name) or name == TOKENS]:
            raise ValueError(f"inputs: expected names of letters, digits and _, not {TOKENS!r}. Received: {wrong}")
        if not network.built:
            network.build()
        self.network, self.inputs, self.target = network, dict(inputs), target
        self.in_graph = {name: graph_field(field, name) for name, field in inputs.items()}
        self.says = graph_target(target)
        self._traced: dict[str, Any] = {}

    @property
    def looks(self) -> Mapping[str, str | Sequence[str]]:
        """What looks where."""
        return {}

    @property
    def looked_at(self) -> Mapping[str, str]:
        """What is looked at, where the name of a look does not say it."""
        return {}

    @property
    def explaining(self) -> Sequence[str]:
        """The looks whose weights say what an answer comes from: not those of a text within itself."""
        return [look for look in self.looks if look not in self.looked_at]

    @property
    def parts(self) -> Mapping[str, Sequence[str]]:
        """What else is found."""
        return {}

    @property
    def ranked_by(self) -> str:
        """What orders the answer and its alternatives."""
        return "log-probability"

    def infer(self, tensors: Tensors) -> Tensors:
        """The tensors of all inputs, by `INPUT_PART`, to what the target says and the `LOOK_attention` of each look.

        No strings, and ops that also run on the edge. A row with nothing to read gets a score of minus infinity.
        """
        raise NotImplementedError

    def potentials(self, tensors: Tensors) -> Tensors:
        """What is computed on the edge: all of `infer`, or what the target decides from on the host (`decide_row`)."""
        return self.infer(tensors)

    @property
    def answers(self) -> int:
        """How many answers a target that decides on the host is asked for."""
        return 1

    # Serving

    def read(self, raw: Mapping[str, tf.Tensor]) -> tuple[Tensors, Tensors]:
        """Strings `[batch]` by input to tensors by `INPUT_PART`, and to places by `INPUT` or `INPUT_LEVEL`."""
        tensors: Tensors = {}
        places: Tensors = {}
        for name, field in self.in_graph.items():
            found = field.read(raw[name])
            tensors.update({f"{name}_{part}": tensor for part, tensor in found.tensors.items()})
            levels = {f"{name}_{level}" if level else name: values for level, values in found.places.items()}
            if twice := levels.keys() & places.keys():
                raise ValueError(f"inputs: expected no name like a level of another. Received: {sorted(twice)}")
            places.update(levels)
        return tensors, places

    def serve(self, **raw: tf.Tensor) -> Tensors:
        """Strings by input to the named outputs of `serving_default`, in the graph; padded to the longest row."""
        tensors, places = self.read(raw)
        found = self.infer(tensors)
        said = self.says.say(found)
        outputs = {name: value for name, value in found.items() if name not in ("scores", *self.target.names)}
        expected = {*self.parts, *(look + ATTENTION for look in self.looks)}
        if outputs.keys() != expected or expected & said.keys():
            wanted = f"scores, {', '.join([*self.target.names, *sorted(expected)])}"
            raise ValueError(f"infer: expected to find {wanted} (target, looks, parts). Received: {sorted(found)}")
        for part, axes in self.parts.items():
            sizes = [self._size(axis, said, places, outputs[part], i) for i, axis in enumerate(axes, 1)]
            outputs[part + SHAPE] = tf.stack(sizes, axis=1)
        for look, looks in self.looks.items():
            rows = self._rows(looks, said, places, tf.shape(said["score"]))
            outputs[look + ROWS] = rows
            outputs[look + ATTENTION] = outputs[look + ATTENTION][:, : tf.shape(rows)[1]]
            if (at := self.looked_at.get(look, look)) in places:
                outputs[look + PLACES] = places[at]
        return {**said, **outputs}

    def _size(self, axis: str, said: Tensors, places: Tensors, part: tf.Tensor, place: int) -> tf.Tensor:
        """How much of an axis of a part is no padding: `[batch]`."""
        if not axis:
            return tf.repeat(tf.shape(part)[place], tf.shape(part)[0])
        names = said[TOKENS] if axis == TOKENS else places[axis]
        there = tf.where(names != "", tf.range(1, tf.shape(names)[1] + 1), 0)
        return tf.reduce_max(tf.pad(there, [[0, 0], [1, 0]]), axis=1)

    def _rows(self, looks: str | Sequence[str], said: Tensors, places: Tensors, batch: tf.Tensor) -> tf.Tensor:
        if not isinstance(looks, str):
            return tf.broadcast_to(tf.constant(looks), tf.concat([batch, [len(looks)]], axis=0))
        return said[TOKENS] if looks == TOKENS else places[looks]

    def serve_tensors(self, **sent: tf.Tensor) -> Tensors:
        """The `tensors` form: what clients send without strings, by `INPUT_PART`, to what `infer` finds."""
        tensors = {}
        for name, field in self.in_graph.items():
            found = field.from_wire({part: sent[f"{name}_{part}"] for part in field.wire})
            tensors.update({f"{name}_{part}": tensor for part, tensor in found.items()})
        return self.infer(tensors)

    @overload
    def answer(self, rows: Sequence[Any]) -> list[Answer]: ...
    @overload
    def answer(self, rows: Sequence[Any], errors: str) -> list[Answer | RowError]: ...
    def answer(self, rows: Sequence[Any], errors: str = "raise") -> Sequence[Answer | RowError]:
        """Return the answer to each row: a mapping by input, or the bare value where there is one input.

        Args:
            rows: what is asked.
            errors: `raise` an error that names the first bad row, or `return` one in place of each bad row's answer.

        Rows that are too large together (`fields.image.BATCH` and the like) are answered in several batches.

        Raises:
            ValueError: something other than rows.
            RowError: a value is too long or broken, and `errors` is `raise`.
        """
        if check_errors(errors) == "return":
            return answer_each(rows, list(self.inputs), self.answer, lambda row: row_fault(self.inputs, row))
        raw = columns(rows, list(self.inputs))
        if not next(iter(raw.values())):
            return []
        try:
            found = self._answer({name: tf.constant(values) for name, values in raw.items()})
        except tf.errors.InvalidArgumentError as error:
            whole = [dict(zip(raw, values, strict=True)) for values in zip(*raw.values(), strict=True)]
            if len(whole) > 1 and TOGETHER in error.message:
                half = len(whole) // 2
                return [*self._answer_part(whole, 0, half), *self._answer_part(whole, half, len(whole))]
            self._refuse(raw)
            said = error.message.strip().splitlines()
            raise ValueError(
                f"rows: expected values that can be read. Received: {said[-1] if said else error}"
            ) from None
        found = {key: value.numpy() for key, value in found.items()}
        return [Answer.from_outputs(found, row) for row in range(len(found["score"]))]

    def _answer(self, raw: Tensors) -> Tensors:
        return self.traced(DEFAULT, self.serve, self.strings)(**raw)

    @property
    def strings(self) -> dict[str, tf.TensorSpec]:
        """What `serve` takes, by input."""
        return {name: tf.TensorSpec([None], tf.string, name) for name in self.inputs}

    def traced(self, name: str, run: Callable[..., Tensors], inputs: Mapping[str, tf.TensorSpec]) -> Any:
        """The concrete function of a signature; it is traced once, for answers, exports and their verification."""
        if name not in self._traced:
            self._traced[name] = tf.function(run, autograph=False).get_concrete_function(**inputs)
        return self._traced[name]

    def _answer_part(self, rows: Sequence[Mapping[str, Any]], start: int, end: int) -> list[Answer]:
        """Return the answers to some of the rows; a bad one is named by its place among all."""
        try:
            return self.answer(rows[start:end])
        except RowError as error:
            place = start + error.row
            raise RowError.of(place, rows[place], error.reason) from None

    def _refuse(self, raw: Mapping[str, Sequence[str | bytes]]) -> None:
        """Say of which value the graph would not have it, in the words of its field."""
        rows = [dict(zip(raw, values, strict=True)) for values in zip(*raw.values(), strict=True)]
        for place, row in enumerate(rows):
            if reason := row_fault(self.inputs, row):
                raise RowError.of(place, row, reason, several=len(rows) > 1)

    def explain(self, row: Any, look: str = "") -> Any:
        """A figure that shows what the answer to one row looked at: the look of this name, or the only one."""
        [answer] = self.answer([row])
        look = look or next(iter(answer.looks), "")
        values = columns([row], list(self.inputs))
        picture = self.inputs[look].picture(values[look][0]) if look in values else None
        return draw_answer(self.title(row), answer, look, picture)

    def title(self, row: Any) -> str:
        """A row as one line: its texts."""
        values = columns([row], list(self.inputs))
        return " | ".join(value.replace("\n", " / ") for [value] in values.values() if isinstance(value, str))

    # Saving

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments of the constructor, as they stand."""
        parameters = inspect.signature(type(self)).parameters.values()
        return {p.name: getattr(self, p.name) for p in parameters if p.kind is p.KEYWORD_ONLY}

    def with_settings(self, **settings: Any) -> "Model":
        """The same network with other settings."""
        return type(self)(self.network, self.inputs, self.target, **{**self.settings, **settings})

    @property
    def plugins(self) -> dict[str, str]:
        """The modules from outside the package that it is made of, with the names of their files."""
        return needed_by([self, *self.inputs.values(), self.target, *self.network._flatten_layers()])

    def save(
        self, folder: str | os.PathLike[str], record: dict[str, Any] | None = None, compact: bool | str = False
    ) -> None:
        """Write the model, with a `record` of where it comes from.

        Each file is replaced whole, and `config.json`, without which a folder is no model, is the last; weights that
        an earlier `save` stored in another form are then removed. A `compact` model is for shipping: its weights are
        stored in half precision (`float16`, or True), or in a quarter (`int8`).
        """
        compact = "float16" if compact is True else compact
        packed: dict[str, Any] = pack(self.network.weights, compact) if compact else {}  # before anything is written
        folder = Path(folder)
        (folder / "assets").mkdir(parents=True, exist_ok=True)
        save_assets(folder / "assets", self.inputs, self.target)
        config = {
            "system": self.name_in_registry,
            "settings": self.settings,
            "plugins": self.plugins,
            "record": record or {},
        }
        if compact:
            config["network"] = keras.saving.serialize_keras_object(self.network)
            with write_atomically(folder / COMPACT) as aside:
                np.savez_compressed(aside, **packed)
        else:
            with write_atomically(folder / WHOLE) as aside:
                self.network.save(aside)
        write_json(folder / "config.json", config)
        (folder / (WHOLE if compact else COMPACT)).unlink(missing_ok=True)  # of another save, with other weights


def only_where(read: tf.Tensor, found: Tensors) -> Tensors:
    """What was found of the rows that were read, `[batch]`; of the others nothing, with a score of minus infinity."""
    held = where_rows(read, found, {name: tf.zeros_like(value) for name, value in found.items()})
    return {**held, "scores": tf.where(read[:, None], found["scores"], -float("inf"))}


def check_inputs(reads: str, inputs: Mapping[str, Field]) -> None:
    """Refuse other inputs than the one that an encoder reads."""
    if list(inputs) != [reads]:
        raise ValueError(f"inputs: expected {reads!r}, what the encoder reads. Received: {list(inputs)}")


def check_labels(outputs: int, target: Label) -> None:
    """Refuse other labels than a network has outputs for."""
    if outputs != target.size:
        raise ValueError(f"target: expected {outputs} labels. Received: {target.size}")


def looks_within(encoder: Encoder, *inputs: str) -> dict[str, str]:
    """The looks of inputs at themselves, by name, each with the input that it is of."""
    return {f"{name}_{level}": name for name in inputs for level in encoder.looks_within}


def trees_within(encoder: Encoder, *inputs: str) -> dict[str, tuple[str, ...]]:
    """The best trees of inputs as parts of an answer, by the names of the looks that they are the best of."""
    return {look: (name,) for look, name in looks_within(encoder, *inputs).items()} if encoder.finds_trees else {}


def one_each(answers: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
    """The given answers themselves, after making sure in the graph that there is one for each row of a batch."""
    given = tf.shape(answers)[0]
    wrong = ["answer: expected one for each row,", batch, "received", given]
    with tf.control_dependencies([tf.debugging.Assert(given == batch, wrong)]):
        return tf.identity(answers)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def read_config(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The `config.json` of a model folder."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise ValueError(f"expected a model folder with config.json, model.keras and assets/. Received: {folder}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected an object that names a system. Received: {config!r:.80}")
    config = {**config, **{name: _mapping(config.get(name)) for name in ("record", "plugins")}}
    try:
        Model.member(config.get("system"))
    except ValueError as error:
        raise ValueError(f"{path}, {error}{advice(config['plugins'])}") from None
    if not isinstance(config.get("settings"), dict):
        raise ValueError(f"{path}: expected the settings of the system. Received: none")
    return config


def load(folder: str | os.PathLike[str]) -> Model:
    """The model of a folder that `Model.save` or a training run wrote.

    Raises:
        ValueError: the folder is not a model's, or a file of it is damaged.
    """
    folder = Path(folder)
    config = read_config(folder)
    if advice(config["plugins"]):
        load_installed()
    missing = advice(config["plugins"])
    try:
        network = _unpack(folder, config["network"]) if "network" in config else _load_keras(folder)
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        why = str(error).partition(". Make sure custom")[0].rpartition("Exception encountered: ")[2]  # Keras says more
        raise ValueError(f"{folder}: expected a whole network. Received: {why}{missing}") from None
    try:
        inputs, target = load_assets(folder / "assets")
    except ValueError as error:
        raise ValueError(f"{error}{missing}") from None
    try:
        return Model.member(config["system"])(network, inputs, target, **config["settings"])
    except TypeError as error:
        raise ValueError(f"{folder}: expected settings of the system. Received: {error}") from None


def _load_keras(folder: Path) -> keras.Model:
    return keras.models.load_model(folder / WHOLE, compile=False)


def _unpack(folder: Path, network_config: dict[str, Any]) -> keras.Model:
    network = keras.saving.deserialize_keras_object(network_config)
    if not network.built:
        network.build()
    with np.load(folder / COMPACT) as stored:
        network.set_weights(unpack(network.weights, stored))
    return network
