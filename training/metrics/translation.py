"""BLEU and chrF by sacrebleu, ROUGE by rouge-score; all in points from 0 to 100, several references allowed."""

from collections.abc import Mapping, Sequence
from typing import Any

from seqattn_tf.training.metrics.base import Answers, Metric, References, pair_up

_TOKENIZERS = ("13a", "none", "char", "intl", "zh")  # those of sacrebleu that need nothing else installed


def bleu(answers: Answers, references: References, tokenize: str = "13a", lowercase: bool = False) -> dict[str, float]:
    """Corpus BLEU-4.

    Args:
        answers: the answer to each source.
        references: the right answers to each source; their number may differ.
        tokenize: sacrebleu's: `13a` for raw text, `none` for text with spaces between its tokens, `char` and others.
        lowercase: whether case is ignored.

    >>> round(bleu({"a": "the cat sat on a mat"}, {"a": ["the cat sat on the mat"]})["bleu"], 1)
    53.7
    """
    return {"bleu": corpus(_bleu(tokenize, lowercase), answers, references)}


def bleu_signature(references: References, tokenize: str = "13a", lowercase: bool = False) -> str:
    """What to quote beside the figure: sacrebleu's settings and version.

    >>> bleu_signature({"a": ["the cat"]}).partition("|version")[0]
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'
    """
    metric = _bleu(tokenize, lowercase)
    corpus(metric, {source: targets[0] for source, targets in references.items() if targets}, references)
    return str(metric.get_signature())


def chrf(answers: Answers, references: References) -> dict[str, float]:
    """Corpus chrF: the F-score of character 6-grams, recall counting twice.

    >>> chrf({"a": "the cat"}, {"a": ["a dog", "the cat"]})
    {'chrf': 100.0}
    """
    from sacrebleu import metrics

    return {"chrf": corpus(metrics.CHRF(), answers, references)}


def rouge(answers: Answers, references: References) -> dict[str, float]:
    """Mean F-measure of single words, of pairs and of the longest common subsequence, the best reference counting.

    Words are runs of a-z and 0-9, lower case, unstemmed: for English.

    >>> rouge({"a": "the cat sat"}, {"a": ["the cat sat"]})
    {'rouge1': 100.0, 'rouge2': 100.0, 'rougeL': 100.0}
    """
    from rouge_score.rouge_scorer import RougeScorer

    names = ("rouge1", "rouge2", "rougeL")
    scorer = RougeScorer(names)
    scores = [scorer.score_multi(targets, answer) for answer, targets in pair_up(answers, references)]
    return {name: 100 * sum(score[name].fmeasure for score in scores) / len(scores) for name in names}


def bleu_by_length(
    lengths: Mapping[str, int], answers: Answers, references: References, edges: Sequence[int], **options: Any
) -> list[tuple[str, int, float]]:
    """BLEU of the sources of similar length: `(label, count, bleu)` for each group that has any.

    Args:
        lengths: of each source, in whatever unit is asked about.
        answers: the answer to each source.
        references: the right answers to each source.
        edges: the longest of each group, rising; a last group takes the longer ones.
        **options: of `bleu`.

    >>> texts = {"one": "a b c d", "two": "a b c d e f"}
    >>> groups = bleu_by_length({"one": 4, "two": 6}, texts, {s: [t] for s, t in texts.items()}, edges=[5, 10])
    >>> [(label, count, round(value)) for label, count, value in groups]
    [('1-5', 1, 100), ('6-10', 1, 100)]
    """
    edges = list(edges)
    if not edges or edges[0] < 1 or edges != sorted(set(edges)):
        raise ValueError(f"edges: expected rising positive numbers. Received: {edges}")
    unknown = [source for source in references if source not in lengths]
    if unknown:
        raise ValueError(f"lengths: expected one for every source. Received: none for {unknown[0]!r}")
    found = []
    for least, most in zip([0, *edges], [*edges, None], strict=True):
        group = {s: t for s, t in references.items() if least < max(lengths[s], 1) and (not most or lengths[s] <= most)}
        label = f"{least + 1}-{most}" if most else f"over {least}"
        if group:
            found.append((label, len(group), bleu(answers, group, **options)["bleu"]))
    return found


def _bleu(tokenize: str, lowercase: bool) -> Any:
    from sacrebleu import metrics

    if tokenize not in _TOKENIZERS:
        raise ValueError(f"tokenize: expected one of {_TOKENIZERS}. Received: {tokenize!r}")
    return metrics.BLEU(
        tokenize=tokenize, lowercase=lowercase, force=True
    )  # force: text with its tokens apart is no mistake


def corpus(metric: Any, answers: Answers, references: References) -> float:
    """A corpus metric of sacrebleu; of right answers there may be more to one key than to another."""
    pairs = pair_up(answers, references)
    most = max(len(targets) for _, targets in pairs)
    streams = [[targets[i] if i < len(targets) else None for _, targets in pairs] for i in range(most)]
    return metric.corpus_score([answer for answer, _ in pairs], streams).score


BLEU = Metric("bleu", bleu, figure="bleu")
CHRF = Metric("chrf", chrf, figure="chrf")
ROUGE = Metric("rouge", rouge, figure="rougeL")
