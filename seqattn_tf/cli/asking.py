"""Commands that ask models: a question, or all rows of files."""

import argparse
import json
import math
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from seqattn_tf.cli.base import VALUES, Commands, check_files
from seqattn_tf.lite.model_inputs import RowError

_NO_OTHERS = (
    "this model gives no other answers: train it with --set beam_width=5 --set alternatives=4, "
    "or make an ensemble with --beam-width 5 --alternatives 4"
)
_ONLY_ONE = "this kind of model gives one answer only: it has no setting `alternatives`"


def add(commands: Commands) -> None:
    """The commands."""
    query = commands.add("query", _query, "ask a model")
    query.add_argument("model", help="a preset or the folder of a run; with --url, the name on the server")
    query.add_argument("values", nargs="+", metavar="VALUE", help=VALUES)
    query.add_argument("--url", help="http://HOST:PORT or grpc://HOST:PORT; in this process otherwise")
    query.add_argument("--json", action="store_true", help="print everything, attention included")
    query.add_argument("--nbest", action="store_true", help="print the other answers as well, best first")

    _add_map(commands.add("map", _map, "answer all rows of files, in parts that go on after an end"))


def _add_map(mapped: argparse.ArgumentParser) -> None:
    mapped.add_argument("model", metavar="MODEL", help="the folder of a run, or a preset")
    mapped.add_argument("source", metavar="INPUT", help=".jsonl, .csv, .tsv, .txt or .parquet; a folder; '*.csv'")
    mapped.add_argument("output", metavar="OUTPUT", type=Path, help="a file with such an ending; a folder otherwise")
    mapped.add_argument("--column", action="append", default=[], metavar="INPUT=COLUMN", help="where an input stands")
    mapped.add_argument("--attention", action="store_true", help="also write what the model looked at")
    mapped.add_argument("--batch-size", type=int, default=256, help="rows that the model is given at once")
    mapped.add_argument("--shard-rows", type=int, default=2000, help="rows of a part")
    mapped.add_argument(
        "--encoding", default="utf-8", help="of text files: utf-8, cp1252, utf-16, ... (default: utf-8)"
    )
    mapped.add_argument("--processes", type=int, help="as many as there are cores otherwise; 0 for this one alone")
    mapped.add_argument("--threads", type=int, default=1, help="of TensorFlow in each process")
    mapped.add_argument("--engine", choices=("local", "ray"), default="local", help="where the processes run")
    mapped.add_argument("--address", help="of the Ray cluster; RAY_ADDRESS, or this machine alone, otherwise")


def _query(options: argparse.Namespace) -> int:
    from seqattn_tf.cli.values import read_rows

    if options.url:
        from seqattn_tf.serving.client import connect

        with closing(connect(options.url)) as client:
            rows = read_rows(options.values, client.inputs(options.model))
            answers = _answers_of(client, options.model, rows)
        ranked_by, no_others = "what the server's model ranks them by", _NO_OTHERS
    else:
        from seqattn_tf.models.presets import open_model

        model = open_model(options.model)
        rows = read_rows(options.values, list(model.inputs))
        check_files(rows, {name: field.kind for name, field in model.inputs.items()})
        answers = model.answer(rows, errors="return")
        ranked_by, no_others = model.ranked_by, _NO_OTHERS if "alternatives" in model.settings else _ONLY_ONE
    bad = [answer for answer in answers if isinstance(answer, RowError)]
    good = [(row, answer) for row, answer in zip(rows, answers, strict=True) if not isinstance(answer, RowError)]
    for error in bad:
        print(f"seqattn query: {error}" if len(rows) > 1 else f"seqattn query: {error.reason}", file=sys.stderr)
    if options.nbest and not any(answer.alternatives for _, answer in good):
        print(no_others, file=sys.stderr)
    elif options.nbest:
        print(f"ranked by {ranked_by}; the number is the log-probability", file=sys.stderr)
    for row, answer in good:
        if options.json:
            print(_as_json(answer))
            continue
        for text, score in [(answer.text, answer.score), *(answer.alternatives if options.nbest else [])]:
            print("\t".join([*map(_shown, row.values()), text, f"{score:.3f}"]))
    return 2 if bad else 0


def _answers_of(client: Any, model: str, rows: list[dict[str, str | bytes]]) -> list[Any]:
    """Ask a server; where it refuses several rows together, ask for one after the other."""
    from seqattn_tf.serving.errors import ServingError

    try:
        return list(client.answer(model, rows))
    except ServingError as error:
        if len(rows) == 1 or error.code != "INVALID_ARGUMENT":
            raise
    answers: list[Any] = []
    for place, row in enumerate(rows):
        try:
            answers += client.answer(model, [row])
        except ServingError as error:
            if error.code != "INVALID_ARGUMENT":
                raise
            answers.append(RowError.of(place, row, str(error)))
    return answers


def _map(options: argparse.Namespace) -> int:
    from seqattn_tf.batch import Options, map_file

    pairs = [given.partition("=") for given in options.column]
    if wrong := [name for name, equals, column in pairs if not (name and equals and column)]:
        raise ValueError(f"column: expected INPUT=COLUMN. Received: {wrong[0]!r}")
    names = ("attention", "batch_size", "shard_rows", "encoding", "processes", "threads", "engine", "address")
    chosen = {name: getattr(options, name) for name in names}
    how = Options(columns={name: column for name, _, column in pairs}, plugins=options.plugin, **chosen)
    done = map_file(options.model, options.source, options.output, how)
    print(f"{done.rows - done.rejected:,} rows are answered in {done.output}")
    if done.rejected:
        print(f"{done.rejected:,} were set aside, with their reasons, in {done.rejected_output}")
    return int(0 < done.rows == done.rejected)


def _shown(value: str | bytes) -> str:
    """A value in one column of one line."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return " / ".join(line.strip("\r") for line in value.replace("\t", " ").strip("\n").split("\n"))


def _as_json(answer: Any) -> str:
    """Everything of an answer; what JSON has no word for, infinity among it, as null."""
    whole = {**vars(answer), "looks": {name: vars(look) for name, look in answer.looks.items()}}
    return json.dumps(_plain(whole), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Arrays and bytes as JSON can hold them."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
