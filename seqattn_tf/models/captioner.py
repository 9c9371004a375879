"""Image captioning models: a sentence for an image, with an attention map over the image for each word."""

from seqattn_tf.models.networks.caption import CaptionNetwork
from seqattn_tf.models.seq2seq import Seq2Seq


class Captioner(Seq2Seq):
    """A model that describes an image in a sentence, with a `CaptionNetwork`.

    >>> from seqattn_tf.encoders import GridEncoder
    >>> from seqattn_tf.lite.fields import Image
    >>> from seqattn_tf.lite.targets import Symbols
    >>> from seqattn_tf.lite.text import SymbolRules
    >>> words = SymbolRules(("a", "dog", "runs"), tokenizer="spaces")
    >>> network = CaptionNetwork.of_pictures(GridEncoder("cnn", 32, 32, units=8), words.size, units=8)
    >>> image = Image(32, 32)
    >>> model = Captioner(network, {"image": image}, Symbols(words, limit=4), max_length_ratio=0)
    >>> [answer] = model.answer(image.sample_inputs(1))
    >>> answer.attention["image"].weights.shape[1:]
    (4, 4)
    """

    name_in_registry = "captioner"
    network: CaptionNetwork
