"""The entry point of `python -m seqattn_tf.cli`."""

import sys

from seqattn_tf.cli import main

if __name__ == "__main__":
    sys.exit(main())
