"""The process of a single run of a sweep."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Runner = Callable[[Sequence[str], Path, threading.Event], int]  # (command, log file, stop) to the status
_POLL = 0.5  # seconds between looks at the process


def run_process(
    command: Sequence[str],
    log: Path,
    stop: threading.Event,
    environment: Mapping[str, str] | None = None,
    lock: int | None = None,
) -> int:
    """Run `seqattn_tf.cli.trial` with a command and return its status.

    The process saves its state and ends when its standard input is closed: by us if `stop` is set, or by our death.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "seqattn_tf.cli.trial", *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment,
            pass_fds=() if lock is None else (lock,),
            start_new_session=True,  # so that Ctrl-C reaches it only once, through us
        )
    with process:
        while process.poll() is None:
            if stop.wait(_POLL) and process.stdin and not process.stdin.closed:
                process.stdin.close()
    return process.returncode
