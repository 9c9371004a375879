"""Loops that LiteRT would compute wrongly, found in a LiteRT file.

`core.edge` describes the fault and prevents it in the loops of this package; a layer may contain others.
"""

from collections.abc import Iterator

from tensorflow.lite.python import schema_py_generated as schema


def moves_inputs(file: bytes) -> bool:
    """Return whether the step of a loop in a LiteRT file returns one of its inputs in the place of another."""
    model = schema.Model.GetRootAsModel(file, 0)
    graphs = [model.Subgraphs(number) for number in range(model.SubgraphsLength())]
    return any(_moves_inputs(graphs[step]) for graph in graphs for step in _steps(graph))


def _steps(graph: schema.SubGraph) -> Iterator[int]:
    """Yield the numbers of the graphs that are the steps of the loops in this graph."""
    for number in range(graph.OperatorsLength()):
        operator = graph.Operators(number)
        if operator.BuiltinOptionsType() == schema.BuiltinOptions.WhileOptions:
            options, table = schema.WhileOptions(), operator.BuiltinOptions()
            options.Init(table.Bytes, table.Pos)
            yield options.BodySubgraphIndex()


def _moves_inputs(step: schema.SubGraph) -> bool:
    places = {step.Inputs(place): place for place in range(step.InputsLength())}
    results = [step.Outputs(place) for place in range(step.OutputsLength())]
    return any(places.get(tensor, place) != place for place, tensor in enumerate(results))
