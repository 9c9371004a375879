"""The long short-term memory cell, compatible with Keras's weights and results (blocks in the order i, f, g, o)."""

import keras

from seqattn_tf.cells.ladder import LadderCell


@keras.saving.register_keras_serializable("seqattn_tf")
class LSTMCell(LadderCell):
    """Long short-term memory, the last cell of the ladder.

        [i f g o] = [sig sig tanh sig](W x + U h + b)
        c' = f * c + i * g
        h' = o * tanh(c')

    Args:
        units: The size of each of the two states.
        activation, recurrent_activation: The activations of the candidate and the output, and of the gates.
        unit_forget_bias: Whether the bias of the forget gate starts at one, so that an untrained cell remembers. It has
            no effect if `use_bias` is False.
        **kwargs: `use_bias`, and the initializer, regularizer and constraint of each weight, as in Keras
            (`KernelCell`).

    >>> cell = LSTMCell(4)
    >>> output, (hidden, memory) = cell(keras.ops.ones([2, 3]), cell.get_initial_state(2))
    >>> memory.shape.as_list()
    [2, 4]
    """

    name_in_registry = "lstm"
    blocks = ("input", "forget", "candidate", "output")
