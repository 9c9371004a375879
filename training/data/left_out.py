"""What of some training examples cannot be learned from."""

import dataclasses
import warnings
from collections.abc import Mapping

from seqattn_tf.training.data.examples import DataWarning


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """How many of some examples are left out, and why.

    Args:
        examples: of all.
        unsaid: those that the model could not say.
        long: those that are too long.
        longest: where one is, by column: its places, and those allowed.

    >>> (LeftOut(3, long=1, longest={"text": (9, 8)}) + LeftOut(2, long=1, longest={"text": (10, 8)})).longest
    {'text': (10, 8)}
    """

    examples: int = 0
    unsaid: int = 0
    long: int = 0
    longest: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)

    def __add__(self, other: "LeftOut") -> "LeftOut":
        longest = dict(self.longest)
        for name, (found, limit) in other.longest.items():
            longest[name] = max(found, longest.get(name, (0, limit))[0]), limit
        return LeftOut(self.examples + other.examples, self.unsaid + other.unsaid, self.long + other.long, longest)

    def warn(self) -> None:
        """Say it, where there are any."""
        if self.unsaid:
            of = f"{self.unsaid} of {self.examples} training examples"
            self._warn(f"{of} are none that the model can say, and not learned from")
        if self.long:
            long = (
                f"{name} of up to {most} places where {limit} are allowed"
                for name, (most, limit) in self.longest.items()
            )
            why = f"{', '.join(long)} (max_source, max_target)"
            self._warn(f"{self.long} of {self.examples} training examples are too long and not learned from: {why}")

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, DataWarning, stacklevel=4)
