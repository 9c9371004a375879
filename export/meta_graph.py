"""What the file of a SavedModel says: its graph and its signatures, as written."""

from pathlib import Path

from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

FILE = "saved_model.pb"
SERVE = "serve"  # the tag of a graph that is for serving


def read(folder: Path) -> meta_graph_pb2.MetaGraphDef:
    """The graph for serving of a SavedModel.

    Raises:
        ValueError: the folder holds no whole SavedModel, or none with a graph for serving.
    """
    path = Path(folder) / FILE
    try:
        model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{folder}: expected a folder with {FILE}. Received: one without") from None
    except DecodeError as error:
        raise ValueError(f"{path}: expected a whole SavedModel. Received: {error}") from None
    for graph in model.meta_graphs:
        if SERVE in graph.meta_info_def.tags:
            return graph
    tags = [list(graph.meta_info_def.tags) for graph in model.meta_graphs]
    raise ValueError(f"{path}: expected a graph with the tag {SERVE!r}. Received: {tags}")
