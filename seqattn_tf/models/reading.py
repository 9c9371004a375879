"""The base class of models that predict structure over one input: a network, and a target that decodes its outputs."""

from collections.abc import Mapping

from seqattn_tf.lite.fields import Field
from seqattn_tf.lite.targets import Target
from seqattn_tf.models.base import Model, Tensors, check_inputs
from seqattn_tf.models.networks.base import ReadingNetwork


class StructuredReader(Model):
    """A model of structure over the positions of one input, decoded by the target from the potentials of a network."""

    def __init__(self, network: ReadingNetwork, inputs: Mapping[str, Field], target: Target) -> None:
        check_inputs(network.encoder.input_name, inputs)
        rules = getattr(inputs[network.encoder.input_name], "rules", None)
        if rules is not None and not rules.unknown:  # an unknown word would leave a gap in the structure
            raise ValueError(
                "inputs: expected a vocabulary with an id for unknown words. Received: a vocabulary without it"
            )
        super().__init__(network, inputs, target)

    @property
    def attention_sources(self) -> Mapping[str, str]:
        """Empty, since the self-attention of the encoder is not part of the answer."""
        return {}

    def _outputs(self, tensors: Tensors) -> Tensors:
        return self.network(tensors, training=False)

    def infer(self, tensors: Tensors) -> Tensors:
        """Decode the structure by the target; a row with nothing to read gets an empty answer."""
        return self.graph_target.decode_structure(
            self._outputs(tensors), self.answer_count, self.network.encoder.input_name
        )

    def potentials(self, tensors: Tensors) -> Tensors:
        """Compute the potentials from which the host decodes the structure."""
        return self.graph_target.potentials(self._outputs(tensors))
