"""BLEU and chrF by sacrebleu, ROUGE by rouge-score, all from 0 to 100 and with any number of references."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqattn_tf.training.metrics.base import Answers, Metric, References, Tally, mean_tally, pair_up

_TOKENIZERS = ("13a", "none", "char", "intl", "zh")  # the tokenizers of sacrebleu that need no other package


def bleu(answers: Answers, references: References, tokenize: str = "13a", lowercase: bool = False) -> dict[str, float]:
    """Compute corpus BLEU-4.

    Args:
        answers: The answer to each source.
        references: The correct answers to each source; their number may differ.
        tokenize: A tokenizer of sacrebleu: `13a` for raw text, `none` for text tokenized by spaces, `char` and others.
        lowercase: Whether to ignore case.

    >>> round(bleu({"a": "the cat sat on a mat"}, {"a": ["the cat sat on the mat"]})["bleu"], 1)
    53.7
    """
    return corpus_tally("bleu", _bleu(tokenize, lowercase), answers, references).total


def bleu_signature(references: References, tokenize: str = "13a", lowercase: bool = False) -> str:
    """Return the settings and version of sacrebleu, to be quoted with the score.

    >>> bleu_signature({"a": ["the cat"]}).partition("|version")[0]
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'
    """
    metric = _bleu(tokenize, lowercase)
    corpus_tally("bleu", metric, {source: targets[0] for source, targets in references.items() if targets}, references)
    return str(metric.get_signature())


def chrf(answers: Answers, references: References) -> dict[str, float]:
    """Compute corpus chrF: the F-score of character 6-grams, in which recall counts twice.

    >>> chrf({"a": "the cat"}, {"a": ["a dog", "the cat"]})
    {'chrf': 100.0}
    """
    return _chrf_tally(answers, references).total


def _chrf_tally(answers: Answers, references: References) -> Tally:
    from sacrebleu import metrics

    return corpus_tally("chrf", metrics.CHRF(), answers, references)


def rouge(answers: Answers, references: References) -> dict[str, float]:
    """Compute the mean F-measure of unigrams, bigrams and the longest common subsequence, each for the best reference.

    Words are runs of a-z and 0-9 in lower case, unstemmed, so this is suitable for English only.

    >>> rouge({"a": "the cat sat"}, {"a": ["the cat sat"]})
    {'rouge1': 100.0, 'rouge2': 100.0, 'rougeL': 100.0}
    """
    return _rouge_tally(answers, references).total


def _rouge_tally(answers: Answers, references: References) -> Tally:
    from rouge_score.rouge_scorer import RougeScorer

    names = ("rouge1", "rouge2", "rougeL")
    scorer = RougeScorer(names)
    scores = [scorer.score_multi(targets, answer) for answer, targets in pair_up(answers, references)]
    return mean_tally({name: [score[name].fmeasure for score in scores] for name in names}, factor=100.0)


def bleu_by_length(
    lengths: Mapping[str, int], answers: Answers, references: References, edges: Sequence[int], **options: Any
) -> list[tuple[str, int, float]]:
    """Compute BLEU by source length: `(label, count, bleu)` for each group that is not empty.

    Args:
        lengths: The length of each source, in any unit.
        answers: The answer to each source.
        references: The correct answers to each source.
        edges: The maximum length of each group, in increasing order; a last group takes the longer ones.
        **options: Options of `bleu`.

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
    )  # without `force`, sacrebleu warns of tokenized text


def _bleu_tally(answers: Answers, references: References) -> Tally:
    return corpus_tally("bleu", _bleu("13a", False), answers, references)


def corpus_tally(name: str, metric: Any, answers: Answers, references: References) -> Tally:
    """Return the statistics that sacrebleu sums for a corpus metric; keys may differ in the number of references."""
    pairs = pair_up(answers, references)
    most = max(len(targets) for _, targets in pairs)
    streams = [[targets[i] if i < len(targets) else None for _, targets in pairs] for i in range(most)]
    # The public `corpus_score` extracts, sums and discards them; its own significance tests call these two methods.
    counts = np.array(metric._extract_corpus_statistics([answer for answer, _ in pairs], streams), float)
    return Tally(counts, lambda sums: {name: metric._compute_score_from_stats(sums.tolist()).score})


BLEU = Metric("bleu", bleu, figure="bleu", tally=_bleu_tally)
CHRF = Metric("chrf", chrf, figure="chrf", tally=_chrf_tally)
ROUGE = Metric("rouge", rouge, figure="rougeL", tally=_rouge_tally)
