"""Write the models and config files for the conformance suite, and print how to start a server and run the suite.

python -m tests.serving.conformance FOLDER [FOLDER_AS_THE_SERVER_SEES_IT]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # as under pytest
from conformance.models import FLAGGED, write


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        raise SystemExit(__doc__)
    folder = Path(arguments[0]).resolve()
    seen_as = Path(arguments[-1]) if len(arguments) == 2 else folder
    flags = write(folder, seen_as)
    print("tensorflow_model_server --port=8500 --rest_api_port=8501", *flags, sep=" \\\n  ")
    print("tensorflow_model_server --port=8510 --rest_api_port=8511", *flags, *FLAGGED, sep=" \\\n  ")
    print()
    print(
        f"TF_SERVING_URL=http://127.0.0.1:8501 TF_SERVING_GRPC=127.0.0.1:8500 TF_SERVING_MODELS={seen_as}", end=" \\\n"
    )
    print("  TF_SERVING_FLAGGED_URL=http://127.0.0.1:8511 TF_SERVING_FLAGGED_GRPC=127.0.0.1:8510", end=" \\\n")
    print("  python -m pytest tests/serving/conformance")


if __name__ == "__main__":
    main(sys.argv[1:])
