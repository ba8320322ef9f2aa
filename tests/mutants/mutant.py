"""What a planted bug is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One planted bug: in `file`, `right` becomes `wrong`; `caught_by` must notice."""

    file: str
    right: str
    wrong: str
    caught_by: str
