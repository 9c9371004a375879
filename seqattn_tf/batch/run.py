"""Answers to all rows of a file, by processes of one machine or of a Ray cluster."""

import dataclasses
import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seqattn_tf import __version__, plugins
from seqattn_tf.batch import local, plan
from seqattn_tf.batch.inputs import find_files, unpack
from seqattn_tf.batch.outputs import FORMATS
from seqattn_tf.batch.plan import Job, Shard
from seqattn_tf.batch.shards import PLAN, VERSION, Answered, Report, Store, digest, fingerprint
from seqattn_tf.core.encodings import UTF8, check_encoding

_ENGINES = ("local", "ray")


@dataclasses.dataclass(frozen=True)
class Options:
    """How a file is mapped. The answers depend on the first five alone.

    Attributes:
        columns: the column of an input that has another name.
        attention: whether to write what the model looked at.
        batch_size: rows that the model is given at once.
        shard_rows: rows of a part.
        encoding: of files of text: `utf-8`, `cp1252`, `utf-16`, ...
        processes: how many; as many as there are cores by default, none to work in this process.
        threads: of TensorFlow, in each process.
        engine: `local` or `ray`.
        address: of the Ray cluster; by default the one of `RAY_ADDRESS`, or one of this machine alone.
        plugins: modules to import first.
    """

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    attention: bool = False
    batch_size: int = 256
    shard_rows: int = 2000
    encoding: str = UTF8
    processes: int | None = None
    threads: int = 1
    engine: str = "local"
    address: str | None = None
    plugins: Sequence[str] = ()

    def __post_init__(self) -> None:
        least = {"batch_size": 1, "shard_rows": 1, "threads": 1, "processes": 0}
        for name, number in least.items():
            value = getattr(self, name)
            if value is not None and value < number:
                raise ValueError(f"{name}: expected at least {number}. Received: {value}")
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        if self.engine not in _ENGINES:
            raise ValueError(f"engine: expected one of {', '.join(_ENGINES)}. Received: {self.engine!r}")


def map_file(
    model: str | os.PathLike[str],
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: Options | None = None,
    quiet: bool = False,
) -> Report:
    """Answer every row of a file, a folder or a pattern; the same call goes on where one was ended.

    Args:
        model: a preset, or the folder of a run.
        source: what `.jsonl`, `.csv`, `.tsv`, `.txt` and `.parquet` files, plain, `.gz` or `.xz`.
        output: a file with such an ending; or else a folder, which gets parts in JSONL.
        options: how.
        quiet: whether to show no bar.

    Raises:
        ValueError: the input cannot be read, or the output is another command's.
        ChildProcessError: a process was killed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "words.txt").write_text("hello\\nworld\\n")
    >>> report = map_file("pronounce", folder / "words.txt", folder / "spoken.txt", Options(processes=0), quiet=True)
    >>> report.rows, (folder / "spoken.txt").read_text()
    (2, 'HH AH L OW\\nW ER L D\\n')
    """
    from seqattn_tf.models.presets import find

    options = options or Options()
    for name in options.plugins:
        plugins.load(name)
    store, paths = Store(output), find_files(os.fspath(source))
    _check_output(store, paths, source, options)
    job = Job(
        find(model),
        (),
        _columns(find(model), options.columns),
        store.ending,
        options.batch_size,
        options.attention,
        options.threads,
        tuple(options.plugins),
    )
    command = _command(job, paths, options)
    if report := store.begin(command):
        return report
    with store.locked(command):
        if report := store.begin(command):  # somebody else was quicker
            return report
        job, shards = _planned(job, paths, store, command, options)
        _work(job, shards, store, options, quiet)
        return store.finish(sum(shard.rows for shard in shards), len(shards), job.format())


def _check_output(store: Store, paths: Sequence[Path], source: str | os.PathLike[str], options: Options) -> None:
    output = store.output.resolve()
    among = {path.resolve() if Path(source).is_file() else path.resolve().parent for path in paths}
    if among & {output, output.parent}:
        raise ValueError(f"output: expected a path that is not among the input. Received: {store.output}")
    if options.attention and not FORMATS[store.ending].looks:
        able = ", ".join(ending for ending, form in FORMATS.items() if form.looks)
        raise ValueError(f"attention: expected {able} or a folder as output. Received: {store.output.name}")


def _columns(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The column of each input of the model of a folder."""
    from seqattn_tf.lite.assets import load_assets

    inputs, _ = load_assets(folder / "assets")
    if unknown := [name for name in given if name not in inputs]:
        raise ValueError(f"column: expected one of the inputs {', '.join(inputs)}. Received: {unknown[0]!r}")
    return {name: given.get(name, name) for name in inputs}


def _command(job: Job, paths: Sequence[Path], options: Options) -> dict[str, Any]:
    """What the answers depend on, as JSON holds it."""
    from seqattn_tf.models.base import COMPACT, WHOLE

    command = {
        "input": fingerprint(paths),
        "model": digest(job.model, ["config.json", WHOLE, COMPACT, "assets"]),
        "columns": job.inputs,
        "attention": job.attention,
        "batch_size": job.batch_size,
        "shard_rows": options.shard_rows,
        "encoding": options.encoding,
        VERSION: __version__,
    }
    return dict(json.loads(json.dumps(command)))


def _planned(
    job: Job, paths: Sequence[Path], store: Store, command: Mapping[str, Any], options: Options
) -> tuple[Job, list[Shard]]:
    folder, encoding = store.folder.resolve(), options.encoding
    files = tuple(unpack(path.resolve(), folder, number, encoding) for number, path in enumerate(paths))
    job, kept = dataclasses.replace(job, files=files), store.folder / PLAN
    if kept.is_file() and store.manifest.is_file():
        return plan.load(kept, job)
    job, shards = plan.make(job, options.shard_rows)
    plan.save(kept, job, shards)
    store.claim(command)
    return job, shards


def _work(job: Job, shards: Sequence[Shard], store: Store, options: Options, quiet: bool) -> None:
    rows = sum(shard.rows for shard in shards)
    left = [shard for shard in shards if not store.part(shard.number).is_file()]
    done = rows - sum(shard.rows for shard in left)
    if not left:
        return
    try:
        with (
            closing(_engine(job, left, options)) as found,
            tqdm(initial=done, total=rows, unit="row", dynamic_ncols=True, disable=quiet) as bar,
        ):
            for answered in found:
                store.write(answered)
                done += answered.rows
                bar.update(answered.rows)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_goes_on(done, rows)) from None
    except ChildProcessError as error:
        raise ChildProcessError(f"{error}; {_goes_on(done, rows)}") from None
    except OSError as error:
        raise OSError(f"{error}; {_goes_on(done, rows)}") from error


def _goes_on(done: int, rows: int) -> str:
    return f"the same command goes on after {done:,} of {rows:,} rows"


def _engine(job: Job, shards: Sequence[Shard], options: Options) -> Generator[Answered, None, None]:
    if options.engine == "ray":
        from seqattn_tf.batch import on_ray

        return on_ray.answered(job, shards, options.processes, options.address)
    processes = len(os.sched_getaffinity(0)) if options.processes is None else options.processes
    return local.answered(job, shards, min(processes, len(shards)))
