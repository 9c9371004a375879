"""A count of the training examples that cannot be trained on."""

import dataclasses
import warnings
from collections.abc import Mapping

from seqattn_tf.training.data.examples import DataWarning


@dataclasses.dataclass(frozen=True)
class SkippedExamples:
    """The number of examples left out, and why.

    Args:
        examples: The total number of examples.
        unsaid: The number of examples whose target the model cannot express.
        long: The number of examples that are too long.
        longest: For each column with examples that are too long, the greatest length and the limit.

    >>> one, other = SkippedExamples(3, long=1, longest={"text": (9, 8)}), SkippedExamples(2, longest={"text": (10, 8)})
    >>> (one + other).longest
    {'text': (10, 8)}
    """

    examples: int = 0
    unsaid: int = 0
    long: int = 0
    longest: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)

    def __add__(self, other: "SkippedExamples") -> "SkippedExamples":
        longest = dict(self.longest)
        for name, (found, limit) in other.longest.items():
            longest[name] = max(found, longest.get(name, (0, limit))[0]), limit
        return SkippedExamples(
            self.examples + other.examples, self.unsaid + other.unsaid, self.long + other.long, longest
        )

    def warn(self) -> None:
        """Warn about the examples left out, if any."""
        if self.unsaid:
            of = f"{self.unsaid} of {self.examples} training examples"
            self._warn(f"{of} have targets that the model cannot produce; skipped")
        if self.long:
            long = (
                f"{name} has up to {most} positions, the maximum is {limit}"
                for name, (most, limit) in self.longest.items()
            )
            why = f"{', '.join(long)} (max_source_length, max_target_length)"
            self._warn(f"{self.long} of {self.examples} training examples are too long; skipped: {why}")

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, DataWarning, stacklevel=4)
