"""Searches for a threshold: where noisy counts first fall below it, and nothing else."""

from __future__ import annotations

from sfumato.budget import Share
from sfumato.curator.crossing import Crossing
from sfumato.curator.farther import Farther, check_farther
from sfumato.curator.vault import Vault
from sfumato.engines.base import Rows


class Thresholds(Vault):
    """The verb that looks through many counts and releases one index; see `Curator`.

    Guarantee: that of `Crossing`, for the ε of the share.
    """

    def first_below(self, counts: Farther, threshold: int, *, share: Share) -> int:
        """Release the index of the first edge beyond which about `threshold` rows lie, or fewer.

        The number of edges stands for none. One price buys any number of edges.

        Sensitivity: see `Farther`: a row moves all counts the same way, by at most 1.
        Guarantee: ε-DP for the ε of the pure share; see `Crossing`.
        """
        question = check_farther(counts, self.box.n_features)
        self._check(share)
        most = question.sensitivity() * self._rows_per_neighbour
        law = Crossing(f"first of {question}", share, most, threshold, len(question.edges))

        def search(rows: Rows) -> int:
            return self._cross(law, question.counts(rows.fold(self.box, question)))

        return self._pay([law.entry()], search)
