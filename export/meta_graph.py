"""What the file of a SavedModel says: its graph and its signatures, as written."""

from pathlib import Path

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

FILES = ("saved_model.pb", "saved_model.pbtxt")  # a SavedModel is in one of them
_SERVE = "serve"  # the tag of a graph that is for serving


def is_saved_model(folder: Path) -> bool:
    """Whether a folder holds the file of a SavedModel."""
    return any((folder / file).is_file() for file in FILES)


def read(folder: Path) -> meta_graph_pb2.MetaGraphDef:
    """The graph for serving of a SavedModel.

    Raises:
        ValueError: the folder holds no whole SavedModel, or none with a graph for serving.
    """
    path = next((Path(folder) / file for file in FILES if (Path(folder) / file).is_file()), None)
    if path is None:
        there = sorted(file.name for file in Path(folder).iterdir()) if Path(folder).is_dir() else "no folder"
        raise ValueError(f"{folder}: expected a folder with {FILES[0]}. Received: {there or 'an empty one'}")
    model = saved_model_pb2.SavedModel()
    try:
        if path.name == FILES[0]:
            model.ParseFromString(path.read_bytes())
        else:
            text_format.Parse(path.read_bytes(), model)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected a whole SavedModel. Received: {error}") from None
    for graph in model.meta_graphs:
        if set(graph.meta_info_def.tags) == {_SERVE}:  # as the loader has it: these tags and no others
            return graph
    tags = [list(graph.meta_info_def.tags) for graph in model.meta_graphs]
    raise ValueError(f"{path}: expected a graph with the tag {_SERVE!r} alone. Received: {tags}")


def ops_of(graph: graph_pb2.GraphDef) -> set[str]:
    """Every op of a graph, its functions included, the functions themselves not."""
    functions = graph.library.function
    found = {node.op for node in graph.node} | {node.op for function in functions for node in function.node_def}
    return found - {function.signature.name for function in functions}
