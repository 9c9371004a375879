"""Run the named benchmarks, or all of them."""

import importlib
import os
import pkgutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

names = sorted(m.name for m in pkgutil.iter_modules([os.path.dirname(__file__)]) if not m.name.startswith("_"))
for name in sys.argv[1:] or names:
    if name not in names:
        sys.exit(f"benchmark: expected one of {names}. Received: {name!r}")
    print(f"== {name}", flush=True)
    importlib.import_module(f"benchmarks.{name}").main()
