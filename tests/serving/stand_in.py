"""A replacement for TensorFlow Serving's binary: accepts only its flags, and runs the embedded server.

A file `mode` beside it can contain a kind of misbehavior: refuse, deaf or late.
"""

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from seqattn_tf.serving.config import ServerConfig, add_flags

here = Path(__file__).parent
(here / "arguments.json").write_text(json.dumps(sys.argv[1:]))
mode = (here / "mode").read_text() if (here / "mode").exists() else ""
assert all(argument.startswith("--") and "=" in argument for argument in sys.argv[1:])
parser = argparse.ArgumentParser(allow_abbrev=False)
add_flags(parser)
options = vars(parser.parse_args())
ours = {"host", "max_request_bytes", "bearer_token_file", "drain_delay_seconds", "drain_seconds"}
assert not any(f"--{name}" in argument for name in ours for argument in sys.argv), "flags it does not have"
print("stand-in: reading", options["model_config_file"] or options["model_base_path"], flush=True)
if mode == "refuse":
    print("Failed to start server. Error: Unknown: the config is not to my liking", flush=True)
    sys.exit(255)
if mode == "late":
    time.sleep(60)
from seqattn_tf.serving.server import Server  # noqa: E402  as slow as the real thing

server = Server(ServerConfig(**options)).start()
if mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("stand-in: not listening to signals", flush=True)
else:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
while True:
    time.sleep(0.1)
