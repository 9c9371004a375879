"""Arithmetic of the calling thread with denormal numbers flushed to zero, as in the threads of TensorFlow.

The mode is part of the floating-point environment of a thread, which only C can change.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
from collections.abc import Iterator

# The offset of the control register in `fenv_t` of the C library, and the bits that flush results and operands.
_REGISTERS = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}
_SIZE = 64  # of a buffer for `fenv_t`


def _library() -> ctypes.CDLL | None:
    """Return the C library, or None where its floating-point environment is not known."""
    if platform.system() != "Linux" or platform.machine() not in _REGISTERS or platform.libc_ver()[0] != "glibc":
        return None
    return ctypes.CDLL("libm.so.6")


_LIBRARY = _library()


@contextlib.contextmanager
def flush_denormals() -> Iterator[None]:
    """Flush denormal numbers to zero within a `with` block; on unknown systems, do nothing."""
    if _LIBRARY is None:
        yield
        return
    before = ctypes.create_string_buffer(_SIZE)
    _LIBRARY.fegetenv(before)
    inside = ctypes.create_string_buffer(before.raw, _SIZE)
    offset, bits = _REGISTERS[platform.machine()]
    ctypes.c_uint32.from_buffer(inside, offset).value |= bits
    _LIBRARY.fesetenv(inside)
    try:
        yield
    finally:
        _LIBRARY.fesetenv(before)
