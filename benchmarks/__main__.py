"""Run the named benchmarks, or all, each in its own process because TensorFlow's threads can be set only once."""

import importlib
import os
import pkgutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

known = sorted(m.name for m in pkgutil.iter_modules([os.path.dirname(__file__)]) if not m.name.startswith("_"))
names = sys.argv[1:] or known
for name in names:
    if name not in known:
        sys.exit(f"benchmark: expected one of {known}. Received: {name!r}")
if len(names) == 1:
    print(f"== {names[0]}", flush=True)
    importlib.import_module(f"benchmarks.{names[0]}").main()
elif failed := [name for name in names if subprocess.call([sys.executable, "-m", "benchmarks", name])]:
    sys.exit(f"benchmarks: expected that all run. Received failures of: {', '.join(failed)}")
