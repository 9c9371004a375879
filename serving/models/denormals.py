"""Arithmetic with denormal numbers flushed to zero, as in the threads of TensorFlow.

The mode is part of the floating-point environment of a thread, which only C can change.
"""

from __future__ import annotations

import ctypes
import platform

# The offset of the control register in `fenv_t` of the C library, and the bits that flush results and operands.
_REGISTERS = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}
_SIZE = 64  # of a buffer for `fenv_t`


def flush_denormals() -> None:
    """Flush denormal numbers to zero in the calling thread, until it ends; on unknown systems, do nothing."""
    machine = platform.machine()
    if platform.system() != "Linux" or machine not in _REGISTERS or platform.libc_ver()[0] != "glibc":
        return
    library = ctypes.CDLL("libm.so.6")
    environment = ctypes.create_string_buffer(_SIZE)
    library.fegetenv(environment)
    offset, bits = _REGISTERS[machine]
    ctypes.c_uint32.from_buffer(environment, offset).value |= bits
    library.fesetenv(environment)
