"""The content of a SavedModel file: its graph and its signatures."""

from pathlib import Path

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from seqattn_tf.export.versions import SAVED_MODEL_FILES

_SERVE = "serve"  # the tag of a graph for serving


def read(folder: Path) -> meta_graph_pb2.MetaGraphDef:
    """Read the serving graph of a SavedModel.

    Raises:
        ValueError: If the folder contains no valid SavedModel, or none with a serving graph.
    """
    path = next((Path(folder) / file for file in SAVED_MODEL_FILES if (Path(folder) / file).is_file()), None)
    if path is None:
        there = sorted(file.name for file in Path(folder).iterdir()) if Path(folder).is_dir() else "no folder"
        raise ValueError(
            f"{folder}: expected a folder with {SAVED_MODEL_FILES[0]}. Received: {there or 'an empty one'}"
        )
    model = saved_model_pb2.SavedModel()
    try:
        if path.name == SAVED_MODEL_FILES[0]:
            model.ParseFromString(path.read_bytes())
        else:
            text_format.Parse(path.read_bytes(), model)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected a complete SavedModel. Received: {error}") from None
    for graph in model.meta_graphs:
        if set(graph.meta_info_def.tags) == {_SERVE}:  # the loader also requires exactly these tags
            return graph
    tags = [list(graph.meta_info_def.tags) for graph in model.meta_graphs]
    raise ValueError(f"{path}: expected a graph with only the tag {_SERVE!r}. Received: {tags}")


def ops_of(graph: graph_pb2.GraphDef) -> set[str]:
    """Return all ops of a graph and its functions, without the functions themselves."""
    functions = graph.library.function
    found = {node.op for node in graph.node} | {node.op for function in functions for node in function.node_def}
    return found - {function.signature.name for function in functions}
