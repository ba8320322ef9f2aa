"""Bugs planted where trees grow."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_privtree.py"
UNIT = "tests/unit/core/releases/test_privtree.py"

MUTANTS = {
    "depth does not decay": Mutant(
        "_core/releases/privtree.py",
        "np.maximum(counts - depth * self.decay, -self.decay)",
        "np.maximum(counts - 0 * depth, -self.decay)",
        f"{LAWS}::test_no_chain_loses_more_than_it_was_charged",
    ),
    "biased counts have no floor": Mutant(
        "_core/releases/privtree.py",
        "np.maximum(counts - depth * self.decay, -self.decay)",
        "np.maximum(counts - depth * self.decay, -100 * self.decay)",
        f"{LAWS}::test_no_chain_loses_more_than_it_was_charged",
    ),
    "decay rounded down": Mutant(
        "_core/releases/privtree.py",
        "return cls(scale, ceil(scale * LOG_2), max_leaves)",
        "return cls(scale, int(scale * LOG_2), max_leaves)",
        f"{LAWS}::test_the_worst_of_all_paths_loses_no_more_than_the_charge",
    ),
    "a path costs no more than one split": Mutant(
        "_core/releases/privtree.py",
        "scale = PER_PATH * rows / share.amount",
        "scale = Fraction(rows) / share.amount",
        f"{LAWS}::test_the_worst_of_all_paths_loses_no_more_than_the_charge",
    ),
    "a path costs a little less": Mutant(
        "_core/releases/privtree.py",
        "PER_PATH = Fraction(26067, 10**4)",
        "PER_PATH = Fraction(26, 10)",
        f"{LAWS}::test_the_worst_tree_uses_the_charge_up",
    ),
    "the shape of a tree forgets the group": Mutant(
        "_core/releases/privtree.py",
        "scale = PER_PATH * rows / share.amount",
        "scale = PER_PATH / share.amount",
        f"{LAWS}::test_no_tree_loses_more_than_it_was_charged",
    ),
    "leaves forget the group": Mutant(
        "_core/releases/privtree.py",
        "most = Sensitivity(1, 1).times(rows)",
        "most = Sensitivity(1, 1)",
        f"{LAWS}::test_no_tree_loses_more_than_it_was_charged",
    ),
    "leaves are not charged": Mutant(
        "_core/releases/privtree.py",
        "data.release([splits.entry(share, rows), leaves.entry()], read)",
        "data.release([splits.entry(share, rows)], read)",
        f"{UNIT}::test_both_shares_are_charged_before_a_row_is_read",
    ),
    "leaves without noise": Mutant(
        "_core/releases/privtree.py",
        "data.perturb(leaves.mechanism, exact[:, np.newaxis])",
        "exact[:, np.newaxis]",
        f"{LAWS}::test_no_tree_loses_more_than_it_was_charged",
    ),
    "a tie splits": Mutant(
        "_core/releases/privtree.py",
        "noise.laplace(self.scale, len(biased)) > 0",
        "noise.laplace(self.scale, len(biased)) >= 0",
        f"{UNIT}::test_without_noise_it_is_the_definition",
    ),
    "one draw for a whole level": Mutant(
        "_core/releases/privtree.py",
        "noise.laplace(self.scale, len(biased)) > 0",
        "noise.laplace(self.scale, 1) > 0",
        f"{UNIT}::test_a_split_is_as_likely_as_the_law_says",
    ),
    "the last level is lost": Mutant(
        "_core/releases/privtree.py",
        "for x in zip(*self._leaves, strict=True)",
        "for x in zip(*self._leaves[:-1], strict=True)",
        f"{UNIT}::test_leaves_are_the_domain_cut_into_pieces",
    ),
    "a level is counted twice": Mutant(
        "_core/releases/privtree.py",
        "for exact in reversed(levels):",
        "for exact in reversed(levels[1:] or levels):",
        f"{UNIT}::test_eight_passes_are_enough_for_any_tree",
    ),
    "one leaf too many": Mutant(
        "_core/releases/privtree.py",
        "self._room = max_leaves - 1",
        "self._room = max_leaves",
        f"{UNIT}::test_there_are_never_more_leaves_than_allowed",
    ),
    "halves overlap": Mutant(
        "_core/queries/privtree.py",
        "lower[places + 1, axis] = cut + 1",
        "lower[places + 1, axis] = cut",
        f"{UNIT}::test_leaves_are_the_domain_cut_into_pieces",
    ),
    "rows on a cut turn right": Mutant(
        "_lattice/kernels/numpy_loops.py",
        "place = 2 * place + (rows[who, axis] > cut)",
        "place = 2 * place + (rows[who, axis] >= cut)",
        f"{UNIT}::test_without_noise_it_is_the_definition",
    ),
    "compiled rows on a cut turn right": Mutant(
        "_lattice/kernels/numba_loops.py",
        "place[i] = 2 * place[i] + (rows[found[i], line[0]] > line[1])",
        "place[i] = 2 * place[i] + (rows[found[i], line[0]] >= line[1])",
        f"{UNIT}::test_the_loop_counts_the_same_before_it_is_compiled",
    ),
    "as many passes as it takes": Mutant(
        "_core/releases/privtree.py",
        "return min(max(fits, needed),",
        "return min(max(fits, 0),",
        f"{UNIT}::test_eight_passes_are_enough_for_any_tree",
    ),
}
