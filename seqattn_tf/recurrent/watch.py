"""Recording of the gates of whole networks while they run."""

import contextlib
import contextvars
from collections.abc import Iterator

import tensorflow as tf

Seen = list[tuple[str, dict[str, tf.Tensor]]]

_SEEN: contextvars.ContextVar[Seen | None] = contextvars.ContextVar("gates", default=None)


@contextlib.contextmanager
def watch_gates() -> Iterator[Seen]:
    """Collect the name and the gates at every unmasked step of every `Recurrent` called in this context.

    Each gate is a tensor `[unmasked steps of all rows, units]`.

    >>> from seqattn_tf.recurrent import Recurrent
    >>> network = Recurrent("gru", units=4, name="reader")
    >>> with watch_gates() as seen:
    ...     outputs = network(tf.ones([2, 5, 3]))
    >>> seen[0][0], seen[0][1]["update"].shape.as_list()
    ('reader', [10, 4])
    """
    seen: Seen = []
    token = _SEEN.set(seen)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def watched() -> Seen | None:
    """Return the list of the active `watch_gates` context, or None."""
    return _SEEN.get()
