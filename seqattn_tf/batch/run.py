"""Batch inference over all rows of a file, by processes on one machine or on a Ray cluster."""

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
from seqattn_tf.batch.shards import PLAN, VERSION, Answered, Report, Store, fingerprint
from seqattn_tf.core.digests import digest_files
from seqattn_tf.core.encodings import UTF8, check_encoding
from seqattn_tf.lite.assets import load_assets
from seqattn_tf.lite.formats import MODEL_FILES
from seqattn_tf.presets import check_engine, find, lite_folder

_SCHEDULERS = ("local", "ray")
_MODEL_FILES = {"keras": MODEL_FILES, "litert": ["."]}  # those that determine answers


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of `map_file`. Answers depend only on the first six.

    Attributes:
        columns: The columns of inputs that have a different name.
        attention: Whether to write attention maps.
        batch_size: The number of rows per batch.
        shard_rows: The number of rows per part.
        encoding: The encoding of text files: `utf-8`, `cp1252`, `utf-16`, ...
        engine: `auto` to answer with LiteRT where the model has it, `litert`, or `keras`.
        processes: The number of processes; by default one per core, 0 to use the current process.
        threads: The number of threads in each process.
        scheduler: Who runs the processes: `local` or `ray`.
        address: The address of the Ray cluster; by default `RAY_ADDRESS`, or a local cluster on this machine.
        plugins: Modules to import first.
    """

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    attention: bool = False
    batch_size: int = 256
    shard_rows: int = 2000
    encoding: str = UTF8
    engine: str = "auto"
    processes: int | None = None
    threads: int = 1
    scheduler: str = "local"
    address: str | None = None
    plugins: Sequence[str] = ()

    def __post_init__(self) -> None:
        least = {"batch_size": 1, "shard_rows": 1, "threads": 1, "processes": 0}
        for name, number in least.items():
            value = getattr(self, name)
            if value is not None and value < number:
                raise ValueError(f"{name}: expected at least {number}. Received: {value}")
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        check_engine(self.engine)
        if self.scheduler not in _SCHEDULERS:
            raise ValueError(f"scheduler: expected one of {', '.join(_SCHEDULERS)}. Received: {self.scheduler!r}")


def map_file(
    model: str | os.PathLike[str],
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: Options | None = None,
    quiet: bool = False,
) -> Report:
    """Answer every row of a file, a folder or a pattern; the same call resumes a run that was interrupted.

    Args:
        model: A preset, or the folder of a run.
        source: `.jsonl`, `.csv`, `.tsv`, `.txt` and `.parquet` files, uncompressed, `.gz` or `.xz`.
        output: A file with one of these suffixes (uncompressed), or a folder for parts in JSONL.
        options: The options of the run.
        quiet: Whether to hide the progress bar.

    Raises:
        ValueError: If the input cannot be read, or if the output belongs to another command.
        ChildProcessError: If a process was killed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "words.txt").write_text("hello\\nworld\\n")
    >>> report = map_file("pronounce", folder / "words.txt", folder / "spoken.txt", Options(processes=0), quiet=True)
    >>> report.rows, (folder / "spoken.txt").read_text()
    (2, 'HH AH L OW\\nW ER L D\\n')
    """
    options = options or Options()
    for name in options.plugins:
        plugins.load(name)
    store, paths = Store(output), find_files(os.fspath(source))
    _check_output(store, paths, source, options)
    lite = lite_folder(model, options.engine)
    folder = lite or find(model)
    job = Job(
        folder,
        (),
        _columns(lite or folder / "assets", options.columns),
        store.ending,
        options.batch_size,
        options.attention,
        options.threads,
        tuple(options.plugins),
        "litert" if lite else "keras",
    )
    command = _command(job, paths, options)
    if report := store.begin(command):
        return report
    with store.locked(command):
        if report := store.begin(command):  # another process has finished the job
            return report
        job, shards = _planned(job, paths, store, command, options)
        _work(job, shards, store, options, quiet)
        return store.finish(sum(shard.rows for shard in shards), len(shards), job.format())


def _check_output(store: Store, paths: Sequence[Path], source: str | os.PathLike[str], options: Options) -> None:
    output = store.output.resolve()
    among = {path.resolve() if Path(source).is_file() else path.resolve().parent for path in paths}
    if among & {output, output.parent}:
        raise ValueError(f"output: expected a path that is not part of the input. Received: {store.output}")
    if options.attention and not FORMATS[store.ending].holds_attention:
        able = ", ".join(ending for ending, form in FORMATS.items() if form.holds_attention)
        raise ValueError(f"attention: expected an output ending in {able}, or a folder. Received: {store.output.name}")


def _columns(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each input of the model with its assets in a folder."""
    inputs, _ = load_assets(folder)
    if unknown := [name for name in given if name not in inputs]:
        raise ValueError(f"column: expected one of the inputs {', '.join(inputs)}. Received: {unknown[0]!r}")
    return {name: given.get(name, name) for name in inputs}


def _command(job: Job, paths: Sequence[Path], options: Options) -> dict[str, Any]:
    """Return everything on which the answers depend, in the form stored as JSON."""
    command = {
        "input": fingerprint(paths),
        "model": digest_files(job.model, _MODEL_FILES[job.engine]),
        "engine": job.engine,
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
            closing(_answered(job, left, options)) as found,
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
    return f"run the same command again to resume after {done:,} of {rows:,} rows"


def _answered(job: Job, shards: Sequence[Shard], options: Options) -> Generator[Answered, None, None]:
    if options.scheduler == "ray":
        from seqattn_tf.batch import on_ray

        return on_ray.answered(job, shards, options.processes, options.address)
    processes = len(os.sched_getaffinity(0)) if options.processes is None else options.processes
    return local.answered(job, shards, min(processes, len(shards)))
