"""Commands that run models on single inputs or on all rows of files."""

import argparse
import json
import math
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from seqattn_tf.cli.base import VALUES, Commands, add_engine, check_files, load_tensorflow, open_quietly
from seqattn_tf.lite.model_inputs import RowError
from seqattn_tf.presets import lite_folder

_NO_OTHERS = (
    "this model returns no alternatives: train it with --set beam_width=5 --set alternatives=4, "
    "or build an ensemble with --beam-width 5 --alternatives 4"
)
_ONLY_ONE = "this model type returns a single answer: it has no setting `alternatives`"


def add(commands: Commands) -> None:
    """Add the commands of this module."""
    query = commands.add("query", _query, "run a model on one or more inputs")
    query.add_argument("model", help="a preset or a run folder; with --url, the name of a model on the server")
    query.add_argument("values", nargs="+", metavar="VALUE", help=VALUES)
    query.add_argument("--url", help="query a server at http://HOST:PORT or grpc://HOST:PORT (default: run locally)")
    add_engine(query)
    query.add_argument("--json", action="store_true", help="print the whole answer as JSON, including attention")
    query.add_argument("--nbest", action="store_true", help="also print the alternatives, best first")

    _add_map(commands.add("map", _map, "run a model on every row of a file; resumable"))


def _add_map(mapped: argparse.ArgumentParser) -> None:
    mapped.add_argument("model", metavar="MODEL", help="a run folder or a preset")
    mapped.add_argument(
        "source",
        metavar="INPUT",
        help="a .jsonl, .csv, .tsv, .txt or .parquet file, a folder, or a pattern such as '*.csv'",
    )
    mapped.add_argument("output", metavar="OUTPUT", type=Path, help="a file with one of these extensions, or a folder")
    mapped.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="INPUT=COLUMN",
        help="the column of an input (default: the column of the same name)",
    )
    mapped.add_argument("--attention", action="store_true", help="also write the attention weights")
    mapped.add_argument("--batch-size", type=int, default=256, help="rows per batch (default: 256)")
    mapped.add_argument(
        "--shard-rows", type=int, default=2000, help="rows per part, the unit of resuming (default: 2000)"
    )
    mapped.add_argument(
        "--encoding", default="utf-8", help="encoding of text files: utf-8, cp1252, utf-16, ... (default: utf-8)"
    )
    mapped.add_argument(
        "--processes", type=int, help="worker processes; 0 to run in this process (default: one per core)"
    )
    mapped.add_argument("--threads", type=int, default=1, help="threads per process (default: 1)")
    add_engine(mapped)
    mapped.add_argument(
        "--scheduler",
        choices=("local", "ray"),
        default="local",
        help="run the processes locally or on Ray (default: local)",
    )
    mapped.add_argument("--address", help="address of the Ray cluster (default: RAY_ADDRESS, or this machine)")


def _query(options: argparse.Namespace) -> int:
    from seqattn_tf.cli.values import read_rows

    if options.url:
        from seqattn_tf.serving.client import connect

        with closing(connect(options.url)) as client:
            rows = read_rows(options.values, client.inputs(options.model))
            answers = _answers_of(client, options.model, rows)
        score_meaning, no_others = "the score of the server's model", _NO_OTHERS
    else:
        model = open_quietly(options.model, options.engine)
        rows = read_rows(options.values, list(model.inputs))
        check_files(rows, {name: field.widget for name, field in model.inputs.items()})
        answers = model.answer(rows, errors="return")
        score_meaning, no_others = model.score_meaning, _NO_OTHERS if "alternatives" in model.settings else _ONLY_ONE
    bad = [answer for answer in answers if isinstance(answer, RowError)]
    good = [(row, answer) for row, answer in zip(rows, answers, strict=True) if not isinstance(answer, RowError)]
    for error in bad:
        print(f"seqattn query: {error}" if len(rows) > 1 else f"seqattn query: {error.reason}", file=sys.stderr)
    if options.nbest and not any(answer.alternatives for _, answer in good):
        print(no_others, file=sys.stderr)
    elif options.nbest:
        print(f"ranked by {score_meaning}; the number is the log-probability", file=sys.stderr)
    for row, answer in good:
        if options.json:
            print(_as_json(answer))
            continue
        for text, score in [(answer.text, answer.score), *(answer.alternatives if options.nbest else [])]:
            number = f"{round(score, 3) + 0:.3f}"  # 0.000 rather than -0.000
            print("\t".join([*map(_shown, row.values()), text, number]))
    return 2 if bad else 0


def _answers_of(client: Any, model: str, rows: list[dict[str, str | bytes]]) -> list[Any]:
    """Request answers from a server; if it rejects several rows together, request them one by one."""
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

    if options.processes == 0 and lite_folder(options.model, options.engine) is None:
        load_tensorflow()
    pairs = [given.partition("=") for given in options.column]
    if wrong := [name for name, equals, column in pairs if not (name and equals and column)]:
        raise ValueError(f"column: expected INPUT=COLUMN. Received: {wrong[0]!r}")
    names = [
        "attention",
        "batch_size",
        "shard_rows",
        "encoding",
        "engine",
        "processes",
        "threads",
        "scheduler",
        "address",
    ]
    chosen = {name: getattr(options, name) for name in names}
    how = Options(columns={name: column for name, _, column in pairs}, plugins=options.plugin, **chosen)
    done = map_file(options.model, options.source, options.output, how)
    print(f"{done.rows - done.rejected:,} rows written to {done.output}")
    if done.rejected:
        print(f"{done.rejected:,} rejected rows written to {done.rejected_output}, with reasons")
    return int(0 < done.rows == done.rejected)


def _shown(value: str | bytes) -> str:
    """Return a value on one line and in one column."""
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    return " / ".join(line.strip("\r") for line in value.replace("\t", " ").strip("\n").split("\n"))


def _as_json(answer: Any) -> str:
    """Return everything in an answer as JSON; values that JSON cannot represent, such as infinity, become null."""
    whole = {**vars(answer), "attention": {name: vars(look) for name, look in answer.attention.items()}}
    return json.dumps(_plain(whole), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Convert arrays and bytes to values that JSON can represent."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
