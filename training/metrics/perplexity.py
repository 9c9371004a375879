"""The perplexity of texts, from the surprise of each of them."""

import math

import numpy as np

from seqattn_tf.training.metrics.base import Tally


def perplexity(counts: np.ndarray) -> Tally:
    """Return the tally of the perplexity, given the surprise in nats and the symbols of each text, `[texts, 2]`.

    >>> {name: round(value, 3) for name, value in perplexity(np.array([[math.log(8), 3], [0, 0]])).total.items()}
    {'perplexity': 2.0}
    """

    def values(sums: np.ndarray) -> dict[str, float]:
        nats, symbols = map(float, sums)
        mean = nats / symbols if symbols else math.inf
        return {"perplexity": math.exp(mean) if mean < 700 else math.inf}

    return Tally(counts, values)
