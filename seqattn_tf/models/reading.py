"""What systems share that read one input and answer at once: a network, and a target that decides on its outputs."""

from collections.abc import Mapping

from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Target
from seqattn_tf.models.base import Model, Tensors, check_inputs
from seqattn_tf.models.networks.base import ReadingNetwork


class StructuredReader(Model):
    """Structure over the places of one input, by a network that gives potentials and a target that decides on them."""

    def __init__(self, network: ReadingNetwork, inputs: Mapping[str, Field], target: Target) -> None:
        check_inputs(network.encoder.reads, inputs)
        rules = getattr(inputs[network.encoder.reads], "rules", None)
        if rules is not None and not rules.unknown:  # it would be a gap, and structure has none
            raise ValueError("inputs: expected a vocabulary with an id for the unknown. Received: one without")
        super().__init__(network, inputs, target)

    def _outputs(self, tensors: Tensors) -> Tensors:
        return self.network(tensors, training=False)

    def infer(self, tensors: Tensors) -> Tensors:
        """What the target decides; a row with nothing to read gets nothing."""
        return self.says.decide_structure(self._outputs(tensors), self.answers, self.network.encoder.reads)

    def potentials(self, tensors: Tensors) -> Tensors:
        """What it decides from."""
        return self.says.potentials(self._outputs(tensors))
