"""The base class of all models, and the folder format that restores a model: `config.json`, weights and `assets/`."""

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
from seqattn_tf.encoders import Encoder
from seqattn_tf.explain import draw_row
from seqattn_tf.inputs import graph_field
from seqattn_tf.inputs.base import Tensors
from seqattn_tf.lite.answer import ATTENTION, KEYS, QUERIES, SHAPE, Answer
from seqattn_tf.lite.assets import load_assets, save_assets
from seqattn_tf.lite.fields.base import TOGETHER, Field, row_fault
from seqattn_tf.lite.formats import COMPACT, FORMAT, WHOLE, check_format
from seqattn_tf.lite.model_inputs import RowError, answer_each, check_errors, columns
from seqattn_tf.lite.targets import Label, Number, Target
from seqattn_tf.models.weights import pack, unpack
from seqattn_tf.outputs import graph_target
from seqattn_tf.plugins import advice, load_installed, needed_by

_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
DEFAULT = "serving_default"  # the signature that takes strings
TOKENS = "tokens"  # names the tokens of the answer as the queries of an attention map


class Model(Registered, tf.Module):
    """A complete system that maps raw inputs to an `Answer`.

    A subclass sets `name_in_registry` and implements one method, `infer`. All its other options are keyword-only
    arguments of the constructor, each stored as an attribute of the same name; they are saved with the model.

    Args:
        network: The Keras network.
        inputs: The input fields, by name.
        target: The target, which defines the form of the answer.

    Attributes:
        signatures: Signatures besides the one for answers: method names, mapped to the texts they take after the
            inputs.
        attention_maps: The queries of each attention map, by the name of the map: the `tokens` of the answer, another
            input, or rows with fixed names. A map is named after the input (or `INPUT_LEVEL`) that it attends to.
        attention_sources: The input (or `INPUT_LEVEL`) attended to by each map that has a different name.
        extra_outputs: Further outputs of `infer` by name, each with its axes after the batch axis: the positions of an
            input (or of `INPUT_LEVEL`), the `tokens` of the answer, or an empty name for an axis of fixed size.
    """

    registry: ClassVar[dict[str, type]] = {}
    signatures: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(self, network: keras.Model, inputs: Mapping[str, Field], target: Target) -> None:
        super().__init__()
        if wrong := [name for name in inputs if not _NAME.fullmatch(name) or name == TOKENS]:
            raise ValueError(
                f"inputs: expected names of letters, digits and _, other than {TOKENS!r}. Received: {wrong}"
            )
        if not network.built:
            network.build()
        self.network, self.inputs, self.target = network, dict(inputs), target
        self.graph_inputs = {name: graph_field(field, name) for name, field in inputs.items()}
        self.graph_target = graph_target(target)
        self._traced: dict[str, Any] = {}

    @property
    def attention_maps(self) -> Mapping[str, str | Sequence[str]]:
        """The queries of each attention map, by the name of the map."""
        return {}

    @property
    def attention_sources(self) -> Mapping[str, str]:
        """The inputs that maps with another name attend to: here, those of the self-attention in the encoder."""
        within = getattr(self._encoder, "self_attention_maps", ())
        return {f"{name}_{level}": name for name in self.inputs for level in within}

    @property
    def explanatory_maps(self) -> Sequence[str]:
        """The attention maps that show what an answer is based on: all but those of self-attention."""
        return [look for look in self.attention_maps if look not in self.attention_sources]

    @property
    def extra_outputs(self) -> Mapping[str, Sequence[str]]:
        """Further outputs of `infer`: here, the best trees, if the encoder computes the probabilities of all trees."""
        trees = getattr(self._encoder, "gives_trees", False)
        return {look: (name,) for look, name in self.attention_sources.items()} if trees else {}

    @property
    def _encoder(self) -> Encoder | None:
        return getattr(self.network, "encoder", None)

    @property
    def score_meaning(self) -> str:
        """The quantity by which the answer and its alternatives are ranked."""
        return "log-probability"

    def infer(self, tensors: Tensors) -> Tensors:
        """Compute the outputs of the target and `MAP_attention` for each attention map from tensors named `INPUT_PART`.

        Implementations use no strings, and only ops that also run in LiteRT. A row with nothing to read gets a score of
        minus infinity.
        """
        raise NotImplementedError

    def potentials(self, tensors: Tensors) -> Tensors:
        """Compute the outputs of the LiteRT model: those of `infer`, or the potentials that the host decodes.

        The host decodes them with `decode_row` of the target.
        """
        return self.infer(tensors)

    @property
    def answer_count(self) -> int:
        """The number of answers to compute with a target that is decoded on the host."""
        return 1

    # Serving

    def read(self, raw: Mapping[str, tf.Tensor]) -> tuple[Tensors, Tensors]:
        """Convert strings `[batch]` by input to tensors by `INPUT_PART`, and to position names by `INPUT[_LEVEL]`."""
        tensors: Tensors = {}
        places: Tensors = {}
        for name, field in self.graph_inputs.items():
            found = field.read(raw[name])
            tensors.update({f"{name}_{part}": tensor for part, tensor in found.tensors.items()})
            levels = {f"{name}_{level}" if level else name: values for level, values in found.positions.items()}
            if twice := levels.keys() & places.keys():
                raise ValueError(f"inputs: expected unique names of inputs and their levels. Received: {sorted(twice)}")
            places.update(levels)
        return tensors, places

    def serve(self, **raw: tf.Tensor) -> Tensors:
        """Compute the outputs of `serving_default` from strings by input, in the graph, padded to the longest row."""
        tensors, places = self.read(raw)
        found = self.infer(tensors)
        said = self.graph_target.format(found)
        outputs = {name: value for name, value in found.items() if name not in ("scores", *self.target.names)}
        expected = {*self.extra_outputs, *(look + ATTENTION for look in self.attention_maps)}
        if outputs.keys() != expected or expected & said.keys():
            wanted = f"scores, {', '.join([*self.target.names, *sorted(expected)])}"
            raise ValueError(
                f"infer: expected the outputs {wanted} (target, attention maps, extra). Received: {sorted(found)}"
            )
        for part, axes in self.extra_outputs.items():
            sizes = [self._size(axis, said, places, outputs[part], i) for i, axis in enumerate(axes, 1)]
            outputs[part + SHAPE] = tf.stack(sizes, axis=1)
        for look, looks in self.attention_maps.items():
            rows = self._rows(looks, said, places, tf.shape(said["score"]))
            outputs[look + QUERIES] = rows
            outputs[look + ATTENTION] = outputs[look + ATTENTION][:, : tf.shape(rows)[1]]
            if (at := self.attention_sources.get(look, look)) in places:
                outputs[look + KEYS] = places[at]
        return {**said, **outputs}

    def _size(self, axis: str, said: Tensors, places: Tensors, part: tf.Tensor, place: int) -> tf.Tensor:
        """Return the size of one axis of an extra output without padding: `[batch]`."""
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
        """Run `infer` on the tensors that clients send in the `tensors` form, which has no strings, by `INPUT_PART`."""
        tensors = {}
        for name, field in self.graph_inputs.items():
            found = field.from_wire({part: sent[f"{name}_{part}"] for part in field.wire})
            tensors.update({f"{name}_{part}": tensor for part, tensor in found.items()})
        return self.infer(tensors)

    @overload
    def answer(self, rows: Sequence[Any]) -> list[Answer]: ...
    @overload
    def answer(self, rows: Sequence[Any], errors: str) -> list[Answer | RowError]: ...
    def answer(self, rows: Sequence[Any], errors: str = "raise") -> Sequence[Answer | RowError]:
        """Return the answer to each row: a mapping by input, or the bare value if there is only one input.

        Rows that are too large together (`fields.image.BATCH` and the like) are answered in several batches.

        Args:
            rows: The rows to answer.
            errors: `raise` raises an error that names the first invalid row; `return` returns an error in place of the
                answer to each invalid row.

        Raises:
            ValueError: If `rows` is not a sequence of rows.
            RowError: If a value is too long or malformed, and `errors` is `raise`.
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
                f"rows: expected inputs that the model can read. Received: {said[-1] if said else error}"
            ) from None
        found = {key: value.numpy() for key, value in found.items()}
        return [Answer.from_outputs(found, row) for row in range(len(found["score"]))]

    def _answer(self, raw: Tensors) -> Tensors:
        return self.traced(DEFAULT, self.serve, self.strings)(**raw)

    @property
    def strings(self) -> dict[str, tf.TensorSpec]:
        """The inputs of `serve`, by name."""
        return {name: tf.TensorSpec([None], tf.string, name) for name in self.inputs}

    def traced(self, name: str, run: Callable[..., Tensors], inputs: Mapping[str, tf.TensorSpec]) -> Any:
        """Return the concrete function of a signature, traced once for answers, exports and their verification."""
        if name not in self._traced:
            self._traced[name] = tf.function(run, autograph=False).get_concrete_function(**inputs)
        return self._traced[name]

    def _answer_part(self, rows: Sequence[Mapping[str, Any]], start: int, end: int) -> list[Answer]:
        """Return the answers to some of the rows; an error names the index of the invalid row among all rows."""
        try:
            return self.answer(rows[start:end])
        except RowError as error:
            place = start + error.row
            raise RowError.of(place, rows[place], error.reason) from None

    def _refuse(self, raw: Mapping[str, Sequence[str | bytes]]) -> None:
        """Raise an error for the first value that its field rejects, with the reason given by the field."""
        rows = [dict(zip(raw, values, strict=True)) for values in zip(*raw.values(), strict=True)]
        for place, row in enumerate(rows):
            if reason := row_fault(self.inputs, row):
                raise RowError.of(place, row, reason, several=len(rows) > 1)

    def explain(self, row: Any, look: str = "") -> Any:
        """Draw what the answer to one row attends to, by the attention map with this name or by the first map."""
        return draw_row(self, row, look)

    # Saving

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword-only arguments of the constructor, with their current values."""
        parameters = inspect.signature(type(self)).parameters.values()
        return {p.name: getattr(self, p.name) for p in parameters if p.kind is p.KEYWORD_ONLY}

    def with_settings(self, **settings: Any) -> "Model":
        """Return a model with the same network and other settings."""
        return type(self)(self.network, self.inputs, self.target, **{**self.settings, **settings})

    @property
    def plugins(self) -> dict[str, str]:
        """The modules from outside the package that the model depends on, with the names of their files."""
        return needed_by([self, *self.inputs.values(), self.target, *self.network._flatten_layers()])

    def save(
        self, folder: str | os.PathLike[str], record: dict[str, Any] | None = None, compact: bool | str = False
    ) -> None:
        """Write the model to a folder, with a `record` of its origin.

        Each file is replaced atomically. `config.json`, without which a folder is not a model, is written last; weights
        that an earlier `save` stored in another form are then removed. A `compact` model is meant for distribution: its
        weights are stored in half precision (`float16`, or True) or as 8-bit integers (`int8`).
        """
        compact = "float16" if compact is True else compact
        packed: dict[str, Any] = pack(self.network.weights, compact) if compact else {}  # may fail: before writing
        folder = Path(folder)
        (folder / "assets").mkdir(parents=True, exist_ok=True)
        save_assets(folder / "assets", self.inputs, self.target)
        config = {
            "format": FORMAT,
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
        (folder / (WHOLE if compact else COMPACT)).unlink(missing_ok=True)  # weights of an earlier save


def only_where(read: tf.Tensor, found: Tensors) -> Tensors:
    """Keep the outputs of the rows that were read, `[batch]`; the others get zeros and a score of minus infinity."""
    held = where_rows(read, found, {name: tf.zeros_like(value) for name, value in found.items()})
    return {**held, "scores": tf.where(read[:, None], found["scores"], -float("inf"))}


def check_inputs(reads: str, inputs: Mapping[str, Field]) -> None:
    """Check that the only input is the one that the encoder reads."""
    if list(inputs) != [reads]:
        raise ValueError(f"inputs: expected only {reads!r}, the input of the encoder. Received: {list(inputs)}")


def check_labels(outputs: int, target: Label | Number) -> None:
    """Check that the target has as many labels as the network has outputs, or is a number if there is one output."""
    if outputs != target.size:
        raise ValueError(f"target: expected size {outputs}, as in the network. Received: {target.size}")


def one_per_row(answers: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
    """Return the given answers after checking in the graph that there is one for each row of a batch."""
    given = tf.shape(answers)[0]
    wrong = ["answer: expected one for each row,", batch, "received", given]
    with tf.control_dependencies([tf.debugging.Assert(given == batch, wrong)]):
        return tf.identity(answers)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def read_config(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read and check the `config.json` of a model folder."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise ValueError(f"expected a model folder with config.json, model.keras and assets/. Received: {folder}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON. Received: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected a JSON object with the key 'system'. Received: {config!r:.80}")
    check_format(path, config, f"convert it with python -m seqattn_tf.convert {folder}")
    config = {**config, **{name: _mapping(config.get(name)) for name in ("record", "plugins")}}
    try:
        Model.member(config.get("system"))
    except ValueError as error:
        raise ValueError(f"{path}, {error}{advice(config['plugins'])}") from None
    if not isinstance(config.get("settings"), dict):
        raise ValueError(f"{path}: expected settings for the system. Received: none")
    return config


def load(folder: str | os.PathLike[str]) -> Model:
    """Load the model from a folder that `Model.save` or a training run wrote.

    Raises:
        ValueError: If the folder does not contain a model, or if one of its files is damaged.
    """
    folder = Path(folder)
    config = read_config(folder)
    if advice(config["plugins"]):
        load_installed()
    missing = advice(config["plugins"])
    try:
        network = _unpack(folder, config["network"]) if "network" in config else _load_keras(folder)
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        why = str(error).partition(". Make sure custom")[0].rpartition("Exception encountered: ")[2]  # without advice
        raise ValueError(f"{folder}: expected a complete network. Received: {why}{missing}") from None
    try:
        inputs, target = load_assets(folder / "assets")
    except ValueError as error:
        raise ValueError(f"{error}{missing}") from None
    try:
        return Model.member(config["system"])(network, inputs, target, **config["settings"])
    except TypeError as error:
        raise ValueError(f"{folder}: expected settings that match its system. Received: {error}") from None


def _load_keras(folder: Path) -> keras.Model:
    return keras.models.load_model(folder / WHOLE, compile=False)


def _unpack(folder: Path, network_config: dict[str, Any]) -> keras.Model:
    network = keras.saving.deserialize_keras_object(network_config)
    if not network.built:
        network.build()
    with np.load(folder / COMPACT) as stored:
        network.set_weights(unpack(network.weights, stored))
    return network
