"""A conditional random field as the last layer of a tagger.

p(tags) ~ exp(start[tags[0]] + sum_t scores[t, tags[t]] + sum_t transitions[tags[t], tags[t+1]] + end[tags[-1]])
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from seqattn_tf.core.layer import Masked
from seqattn_tf.core.linear import linear
from seqattn_tf.core.masking import check_mask, length_mask, zero_masked
from seqattn_tf.structured.base import Ranked, check_integers, floats
from seqattn_tf.structured.chain import LinearChain
from seqattn_tf.structured.packing import Packing
from seqattn_tf.structured.tags import Allowed, allowed_transitions, check_names

_DECODINGS = ("viterbi", "posterior")


@keras.saving.register_keras_serializable("seqattn_tf")
class CRF(Masked):
    """A linear-chain conditional random field over tags.

    The layer projects features `[batch, time, features]` to one score per tag. It also has trainable scores for each
    pair of consecutive tags and for the first and the last tag. Inference is exact and in at least single precision,
    regardless of the dtype policy.

    A call returns a dictionary with `"tags"` (the decoded tags, `int32 [batch, time]`), `"scores"` (`[batch, time,
    tags]`) and `"mask"` (`bool [batch, time]`). The methods of the layer take the scores and the mask. `CRFModel` is
    trained on them and predicts the tags.

    The mask is the argument or, without one, the Keras mask of the inputs. It may have gaps anywhere: padding on the
    right, on the left or in between (for example, to keep only the first piece of every word). The unmasked positions
    form a chain in which positions on either side of a gap are neighbors. Tags and marginals are zero at masked
    positions, whose inputs have no influence.

    Args:
        tags: The number of tags, or their names.
        scheme: `"BIO"` or `"BIOES"` to allow only valid sequences of the scheme (see `tags.allowed_transitions`).
            Labels that violate it have a log-likelihood of `-inf`.
        boundaries: Whether to learn scores for the first and the last tag of a row.
        use_kernel: Whether to project the features, with a bias. If false, the features must be the scores, one per
            tag.
        decode: `"viterbi"` for the best sequence, or `"posterior"` for the best tag at each position, which makes fewer
            errors on average but may violate the scheme.
        transition_initializer: The initializer of the transitions. With zeros, the untrained layer is a softmax. The
            bias and the boundary scores always start at zero.
        transition_regularizer: The regularizer of the transitions and the boundary scores.
        transition_constraint: The constraint on the transitions and the boundary scores.
        kernel_initializer: The initializer of the projection.
        kernel_regularizer: The regularizer of the projection.
        kernel_constraint: The constraint on the projection.

    >>> crf = CRF(["O", "B-PER", "I-PER"], scheme="BIO", use_kernel=False)
    >>> scores = tf.constant([[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]])
    >>> found = crf(scores)
    >>> found["tags"].numpy().tolist()  # I-PER cannot be first
    [[1, 2, 0]]
    >>> round(float(tf.exp(crf.log_likelihood(found["scores"], found["tags"], found["mask"]))[0]), 2)
    0.35
    """

    def __init__(
        self,
        tags: int | Sequence[str],
        scheme: str | None = None,
        boundaries: bool = True,
        use_kernel: bool = True,
        decode: str = "viterbi",
        transition_initializer: Any = "zeros",
        transition_regularizer: Any = None,
        transition_constraint: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        kernel_regularizer: Any = None,
        kernel_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if decode not in _DECODINGS:
            raise ValueError(f"decode: expected one of {_DECODINGS}. Received: {decode!r}")
        self.tags: int | tuple[str, ...]
        self._allowed: Allowed | None = None
        if isinstance(tags, int | np.integer):
            if tags < 1:
                raise ValueError(f"tags: expected a positive number of tags, or their names. Received: {tags}")
            if scheme is not None:
                raise ValueError(f"tags: expected tag names for the scheme {scheme!r}. Received: {tags}")
            self.tags = self.size = int(tags)
        else:
            names = self.tags = check_names(tags)
            self.size = len(names)
            self._allowed = None if scheme is None else allowed_transitions(names, scheme)
        self.scheme, self.boundaries, self.use_kernel, self.decode = scheme, boundaries, use_kernel, decode
        self.transition_initializer = keras.initializers.get(transition_initializer)
        self.transition_regularizer = keras.regularizers.get(transition_regularizer)
        self.transition_constraint = keras.constraints.get(transition_constraint)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.kernel_constraint = keras.constraints.get(kernel_constraint)

    def build(self, input_shape: Any) -> None:
        """Create the transitions, the boundary scores and the projection."""
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(f"inputs: expected [batch, time, features]. Received: shape {tuple(input_shape)}")
        if not self.use_kernel and input_shape[-1] != self.size:
            raise ValueError(
                f"inputs: expected {self.size} features with use_kernel=False. Received: {input_shape[-1]}"
            )
        alike = {
            "regularizer": self.transition_regularizer,
            "constraint": self.transition_constraint,
            "autocast": False,
        }
        size = self.size
        self.transitions = self.add_weight((size, size), self.transition_initializer, name="transitions", **alike)
        if self.boundaries:
            self.start = self.add_weight((size,), "zeros", name="start", **alike)
            self.end = self.add_weight((size,), "zeros", name="end", **alike)
        if self.use_kernel:
            self.kernel = self.add_weight(
                (input_shape[-1], size),
                self.kernel_initializer,
                name="kernel",
                regularizer=self.kernel_regularizer,
                constraint=self.kernel_constraint,
            )
            self.bias = self.add_weight((size,), "zeros", name="bias")
        self.built = True

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None) -> dict[str, tf.Tensor]:
        """Decode the tags of `[batch, time, features]`; also return the scores and the mask for the methods."""
        if mask is not None:
            mask = self._checked(mask, inputs)
            inputs = zero_masked(inputs, mask)
        scores = self.scores(inputs)
        if mask is not None:
            scores = zero_masked(scores, mask)
        everything = tf.ones(tf.shape(scores)[:2], tf.bool) if mask is None else mask
        return {"tags": self.best_tags(scores, mask), "scores": scores, "mask": everything}

    def scores(self, inputs: tf.Tensor) -> tf.Tensor:
        """Return the scores in at least single precision: `[batch, time, features] -> [batch, time, tags]`."""
        return floats(linear(inputs, self.kernel, self.bias) if self.use_kernel else inputs, "inputs", 3)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> dict[str, Any]:
        """Propagate the mask to the tags and the scores, so that Keras's metrics use it."""
        return {"tags": previous_mask, "scores": previous_mask, "mask": None}

    def compute_output_shape(self, inputs_shape: Any) -> dict[str, tuple]:
        steps = tuple(inputs_shape[:2])
        return {"tags": steps, "scores": (*steps, self.size), "mask": steps}

    @staticmethod
    def _checked(mask: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        mask = check_mask(mask)
        if not mask.shape.is_compatible_with(scores.shape[:2]):
            raise ValueError(f"mask: expected shape {scores.shape[:2]}, as in the inputs. Received: shape {mask.shape}")
        return mask

    def _packed(self, scores: Any, mask: Any) -> tuple[LinearChain, Packing]:
        """Return the distribution over rows without gaps, and the packing that removes and restores the gaps."""
        scores = floats(scores, "scores", 3)
        if not self.built:
            raise ValueError(
                f"{self.name}: expected a built layer. Received: a layer without weights; build or call it first"
            )
        if scores.shape[2] != self.size:
            raise ValueError(f"scores: expected [batch, time, {self.size}]. Received: shape {scores.shape}")
        packing = Packing(None if mask is None else self._checked(mask, scores))
        return LinearChain(*self.potentials(packing.pack(scores), packing.lengths), packing.lengths), packing

    def potentials(self, scores: tf.Tensor, lengths: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the log-potentials of rows without gaps: scores including boundary scores, and transitions.

        Args:
            scores: The scores `[batch, time, tags]` returned by the layer.
            lengths: The lengths `[batch]`. Defaults to the full length for every row.
        """
        transitions = tf.cast(self.transitions, scores.dtype)
        start = tf.cast(self.start, scores.dtype) if self.boundaries else tf.zeros([self.size], scores.dtype)
        end = tf.cast(self.end, scores.dtype) if self.boundaries else tf.zeros([self.size], scores.dtype)
        if self._allowed is not None:
            forbidden = tf.constant(-float("inf"), scores.dtype)
            transitions = tf.where(self._allowed.transitions, transitions, forbidden)
            start = tf.where(self._allowed.starts, start, forbidden)
            end = tf.where(self._allowed.ends, end, forbidden)
        times = tf.range(tf.shape(scores)[1])
        last = tf.shape(scores)[1:2] - 1 if lengths is None else lengths - 1
        at_start, at_end = times[None, :, None] == 0, (times == last[:, None])[..., None]
        scores += tf.where(at_start, start, tf.zeros_like(start)) + tf.where(at_end, end, tf.zeros_like(end))
        return scores, transitions

    def distribution(self, scores: Any, mask: Any = None) -> LinearChain:
        """Return the distribution over the tags of every row, with unmasked positions moved to the front.

        Its unary scores include the boundary scores, and transitions that the scheme forbids are `-inf`. Use it for
        samples, entropies and divergences. The methods below use it as well, but return results at the original
        positions.
        """
        return self._packed(scores, mask)[0]

    def log_likelihood(self, scores: Any, labels: Any, mask: Any = None) -> tf.Tensor:
        """Return `log p(labels)`, `[batch]`; 0 for rows without positions.

        Args:
            scores: The scores `[batch, time, tags]` returned by the layer.
            labels: The labels, integers `[batch, time]`, ignored at masked positions. Labels that are not tags, or that
                the scheme forbids, have probability zero and a log-likelihood of `-inf`.
            mask: The mask `[batch, time]` returned by the layer.
        """
        chain, packing = self._packed(scores, mask)
        labels = packing.pack(check_integers(labels, "labels", chain.structure_shape))
        inside = length_mask(chain.lengths, tf.shape(labels)[1])
        known = tf.logical_and(labels >= 0, labels < self.size)
        tags = tf.cast(tf.where(tf.logical_and(inside, known), labels, tf.zeros_like(labels)), tf.int32)
        possible = tf.reduce_all(tf.logical_or(known, tf.logical_not(inside)), 1)
        return tf.where(possible, chain.log_prob(tags), tf.constant(-float("inf"), chain.unary.dtype))

    def best_tags(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """Return the decoded tags, `int32 [batch, time]`, according to `decode`."""
        chain, packing = self._packed(scores, mask)
        if self.decode == "viterbi":
            return packing.unpack(chain.argmax)
        return packing.unpack(tf.argmax(chain.marginals, axis=2, output_type=tf.int32))

    def top_k(self, scores: Any, k: int, mask: Any = None) -> Ranked:
        """Return the `k` best sequences of tags, `int32 [batch, k, time]`, and their scores `[batch, k]`.

        A score minus `distribution(scores, mask).log_partition` is a log-probability.
        """
        chain, packing = self._packed(scores, mask)
        best = chain.top_k(k)
        tags = packing.unpack(tf.transpose(best.structures, [0, 2, 1]))
        return Ranked(tf.transpose(tags, [0, 2, 1]), best.scores)

    def marginals(self, scores: Any, mask: Any = None) -> tf.Tensor:
        """Return the probability of every tag at every position, `[batch, time, tags]`; zeros at masked positions."""
        chain, packing = self._packed(scores, mask)
        return packing.unpack(chain.marginals)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "tags": self.tags if isinstance(self.tags, int) else list(self.tags),
            "scheme": self.scheme,
            "boundaries": self.boundaries,
            "use_kernel": self.use_kernel,
            "decode": self.decode,
            "transition_initializer": keras.initializers.serialize(self.transition_initializer),
            "transition_regularizer": keras.regularizers.serialize(self.transition_regularizer),
            "transition_constraint": keras.constraints.serialize(self.transition_constraint),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "kernel_regularizer": keras.regularizers.serialize(self.kernel_regularizer),
            "kernel_constraint": keras.constraints.serialize(self.kernel_constraint),
        }
