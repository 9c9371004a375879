"""Start-up messages of libraries, which they write to standard error and no setting turns off."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def hide_messages() -> Iterator[None]:
    """Hide everything that the process writes to standard error inside the `with` block. Errors are still raised."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
