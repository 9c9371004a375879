"""Checks for custom parts: cells, scores, alignments, decoders, encoders, fields, targets and recipes.

`check(part)` runs everything that the package's own parts of the same family must pass and raises one error that
lists every problem found:

    from seqattn_tf.checks import check

    check(SharpAlignment())
    check(IsoDate(), values=["2024-02-29", "1999-12-31"])
    check(recipe, data="commands.csv")
"""

from collections.abc import Collection
from typing import Any

from seqattn_tf.checks.base import CheckError, Checks, Result
from seqattn_tf.core.registry import suggest

__all__ = ["CheckError", "Checks", "Result", "check", "checks_for", "run_checks"]


def checks_for(part: Any, **options: Any) -> Checks:
    """Return the checks for a part: an object with one method `check_*` per check, listed by `names`.

    Args:
        part: An instance of the part; for a recipe, the `Recipe`.
        **options: The options of the family's checks, see its `Checks` class: `values` of a field, `examples` of a
            target, `field` of an encoder, `data` of a recipe.

    Raises:
        TypeError: If there are no checks for such an object.
    """
    from seqattn_tf.attention import Alignment, Score
    from seqattn_tf.cells import Cell
    from seqattn_tf.checks.attention import AlignmentChecks, ScoreChecks
    from seqattn_tf.checks.cell import CellChecks
    from seqattn_tf.checks.decoder import DecoderChecks
    from seqattn_tf.checks.encoder import EncoderChecks
    from seqattn_tf.checks.field import FieldChecks
    from seqattn_tf.checks.recipe import RecipeChecks
    from seqattn_tf.checks.target import TargetChecks
    from seqattn_tf.decoders.symbols import SymbolDecoder
    from seqattn_tf.encoders import Encoder
    from seqattn_tf.lite.fields import Field
    from seqattn_tf.lite.targets import Target
    from seqattn_tf.training.recipes import Recipe

    families: dict[type, type[Checks]] = {
        Cell: CellChecks,
        Score: ScoreChecks,
        Alignment: AlignmentChecks,
        SymbolDecoder: DecoderChecks,
        Encoder: EncoderChecks,
        Field: FieldChecks,
        Target: TargetChecks,
        Recipe: RecipeChecks,
    }
    for family, checks in families.items():
        if isinstance(part, family):
            return checks(part, **options)
    names = ", ".join(family.__name__ for family in families)
    raise TypeError(f"part: expected an instance of {names}. Received: {part!r:.80}")


def run_checks(part: Any, *, only: Collection[str] = (), skip: Collection[str] = (), **options: Any) -> list[Result]:
    """Run the checks of a part and return the result of each.

    Args:
        part: As in `checks_for`.
        only: The names of the checks to run. All if empty.
        skip: The names of checks to skip, such as `exports`, which takes longest.
        **options: As in `checks_for`.

    Raises:
        ValueError: If a name is not that of a check of this family.
    """
    checks = checks_for(part, **options)
    known = checks.all_names()
    for name in (*only, *skip):
        if name not in known:
            raise ValueError(f"only, skip: expected names among {known}. Received: {name!r}{suggest(name, known)}")
    return [checks.run(name) for name in checks.names() if (not only or name in only) and name not in skip]


def check(part: Any, *, only: Collection[str] = (), skip: Collection[str] = (), **options: Any) -> None:
    """Run the checks of a part, as `run_checks` does, and raise an error if any fails.

    Raises:
        CheckError: If at least one check failed. The message lists every problem.
    """
    results = run_checks(part, only=only, skip=skip, **options)
    if problems := [result for result in results if result.problem]:
        raise CheckError(part, problems, len(results))
