"""Captions: a picture in, a sentence out, with the part of the picture that each word looks at."""

from seqattn_tf.models.networks.caption import CaptionNetwork
from seqattn_tf.models.seq2seq import Seq2Seq


class Captioner(Seq2Seq):
    """A sentence about a picture, by a `CaptionNetwork`.

    >>> from seqattn_tf.encoder import GridEncoder
    >>> from seqattn_tf.lite.fields import Image
    >>> from seqattn_tf.lite.targets import Symbols
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = SymbolRules(("a", "dog", "runs"), split="spaces")
    >>> network = CaptionNetwork.of_pictures(GridEncoder("cnn", 32, 32, units=8), words.size, units=8)
    >>> image = Image(32, 32)
    >>> model = Captioner(network, {"image": image}, Symbols(words, limit=4), max_length_ratio=0)
    >>> [answer] = model.answer(image.made_up(1))
    >>> answer.looks["image"].weights.shape[1:]
    (4, 4)
    """

    name_in_registry = "captioner"
    network: CaptionNetwork
