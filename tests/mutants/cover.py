"""Bugs planted in max cover: who is covered, what is drawn, what it costs."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_max_cover.py"
STATE = "tests/unit/core/releases/test_max_cover.py"
CLASSES = "tests/unit/core/sampling/test_choice_classes.py"
METHOD = "tests/unit/methods/test_max_cover.py"
ALL = f"{LAWS}::test_every_sequence_of_picks_loses_no_more_than_was_charged"
LEFT = f"{STATE}::test_rows_that_leave_are_taken_off"

MUTANTS = {
    "covered rows return at the next radius": Mutant(
        "_core/releases/max_cover.py",
        "            left = cover.left()\n",
        "",
        f"{LAWS}::test_a_row_that_was_covered_never_counts_again",
    ),
    "covered rows return for the next pick": Mutant(
        "_core/releases/max_cover.py",
        "                cover.leave(found[-1].point)\n",
        "",
        f"{LAWS}::test_a_row_that_was_covered_never_counts_again",
    ),
    "a cover is read before it is charged": Mutant(
        "_core/releases/max_cover.py",
        "    return data.release([covering.entry(grids.n_features)], read)\n",
        "    return read(data._PrivateData__rows)\n",
        f"{LAWS}::test_a_cover_is_charged_before_a_row_is_read_and_read_once",
    ),
    "covers forget the group": Mutant(
        "_core/releases/max_cover.py",
        "share, data.rows_per_neighbour, all_picks)",
        "share, 1, all_picks)",
        f"{LAWS}::test_one_share_pays_for_all_picks_and_a_group_weighs_its_part",
    ),
    "the price of Theorem 16": Mutant(
        "_core/releases/max_cover.py",
        "min(amount, _mp.log1p(amount / tries))",
        "min(amount, amount / (_mp.e * tries))",
        f"{LAWS}::test_rates_are_the_largest_that_the_share_pays_for",
    ),
    "the price of one pick": Mutant(
        "_core/releases/max_cover.py",
        "min(amount, _mp.log1p(amount / tries))",
        "amount",
        f"{LAWS}::test_no_grids_make_a_group_lose_more",
    ),
    "a large ε is not kept to the cost of a row more": Mutant(
        "_core/releases/max_cover.py",
        "min(amount, _mp.log1p(amount / tries))",
        "_mp.log1p(amount / tries)",
        f"{LAWS}::test_rates_are_the_largest_that_the_share_pays_for",
    ),
    "groups pay as single rows": Mutant(
        "_core/releases/max_cover.py",
        "tries = _mp.log(_mp.mpf(rows) * delta.denominator / delta.numerator)",
        "tries = _mp.log(_mp.mpf(1) * delta.denominator / delta.numerator)",
        f"{LAWS}::test_rates_are_the_largest_that_the_share_pays_for",
    ),
    "every row of a group weighs as one alone": Mutant(
        "_core/releases/max_cover.py",
        "/ Fraction(2) ** shift / rows",
        "/ Fraction(2) ** shift",
        f"{ALL}[group]",
    ),
    "rates are rounded up": Mutant(
        "_core/releases/max_cover.py",
        "whole = int(_mp.floor(_mp.ldexp(eta, shift)))",
        "whole = int(_mp.floor(_mp.ldexp(eta, shift))) + 1",
        f"{LAWS}::test_rates_are_the_largest_that_the_share_pays_for",
    ),
    "the uniform part is drawn from covered points": Mutant(
        "_core/releases/max_cover.py",
        "        if chosen == 0:\n",
        "        if chosen == 0 and not len(scores):\n",
        f"{LAWS}::test_points_are_picked_as_often_as_their_chances_say",
    ),
    "the uniform part leaves out the last point of an axis": Mutant(
        "_core/releases/max_cover.py",
        "np.full(net.n_features, net.per_axis, dtype=np.int64)",
        "np.full(net.n_features, max(1, net.per_axis - 1), dtype=np.int64)",
        f"{LAWS}::test_without_rows_every_point_is_equally_likely",
    ),
    "always the first of equal points": Mutant(
        "_core/releases/max_cover.py",
        "return cover.find(int(scores[chosen - 1]), int(rank[0]))",
        "return cover.find(int(scores[chosen - 1]), 0)",
        f"{LAWS}::test_points_are_picked_as_often_as_their_chances_say",
    ),
    "covered points are weighed twice": Mutant(
        "_core/sampling/choice.py",
        "parts = many * lesser * -np.expm1(-_exponents(scores, rate))",
        "parts = many * lesser",
        f"{CLASSES}::test_settled_usual_and_brute_force_draws_agree",
    ),
    "multiplicities are forgotten": Mutant(
        "_core/sampling/choice.py",
        "parts = many * lesser * -np.expm1",
        "parts = lesser * -np.expm1",
        f"{CLASSES}::test_settled_usual_and_brute_force_draws_agree",
    ),
    "settled draws count covered points twice": Mutant(
        "_core/sampling/choice.py",
        "int(m) * max(0, exp_fixed(rate * (best - s), precision) - floor)",
        "int(m) * exp_fixed(rate * (best - s), precision)",
        f"{CLASSES}::test_settled_usual_and_brute_force_draws_agree",
    ),
    "draws next to a boundary are not settled": Mutant(
        "_core/sampling/choice.py",
        "return i if above and below else settle(stream, [place], exact)",
        "return i",
        f"{CLASSES}::test_a_draw_next_to_a_boundary_is_settled",
    ),
    "rows that leave stay in the counts that are kept": Mutant(
        "_core/releases/max_cover.py",
        "        self._add(self._kept, self._counts, leaving, -1)\n",
        "",
        LEFT,
    ),
    "rows that leave stay in the counts made again": Mutant(
        "_core/releases/max_cover.py",
        "        self._left &= ~leaving\n",
        "",
        LEFT,
    ),
    "blocks that changed are tallied twice": Mutant(
        "_core/releases/max_cover.py",
        "        tally(self._counts, lines, self._many, -1)\n",
        "",
        LEFT,
    ),
    "loose blocks are forgotten": Mutant(
        "_core/releases/max_cover.py",
        "        self._recount(self._loose, 1)\n",
        "",
        f"{STATE}::test_every_point_near_a_row_is_found_once",
    ),
    "points are looked for in kept blocks alone": Mutant(
        "_core/releases/max_cover.py",
        "            hits[some] = (self._look(some) == score).sum(axis=1)\n",
        "            hits[some] = 0\n",
        f"{STATE}::test_every_point_near_a_row_is_found_once",
    ),
    "rows at the edge of a radius are left out": Mutant(
        "_lattice/kernels/cover.py",
        "np.nonzero((total <= net.limit) & (number < net.per_axis))",
        "np.nonzero((total < net.limit) & (number < net.per_axis))",
        f"{STATE}::test_the_finest_grid_and_the_furthest_corner",
    ),
    "points beyond the end of an axis are counted": Mutant(
        "_lattice/kernels/cover.py",
        "np.nonzero((total <= net.limit) & (number < net.per_axis))",
        "np.nonzero(total <= net.limit)",
        f"{STATE}::test_every_point_near_a_row_is_found_once",
    ),
    "compiled loops count points beyond the end of an axis": Mutant(
        "_lattice/kernels/numba_cover.py",
        "gap * gap if number <= 2 * half else limit + 1",
        "gap * gap",
        f"{STATE}::test_every_point_near_a_row_is_found_once",
    ),
    "compiled loops leave lines out": Mutant(
        "_lattice/kernels/numba_cover.py",
        "        if left < least:\n",
        "        if left <= least:\n",
        f"{STATE}::test_points_at_the_very_edge_are_near",
    ),
    "blocks at the edge of a radius are left out": Mutant(
        "_lattice/kernels/cover.py",
        "kept = spent <= net.limit",
        "kept = 4 * spent <= net.limit",
        f"{STATE}::test_rows_reach_over_the_borders_of_blocks",
    ),
    "the reach is a whole number of sides": Mutant(
        "_core/queries/max_cover.py",
        "r * r + t * t * d + isqrt(4 * r * r * t * t * d)",
        "r * r + t * t * d",
        f"{LAWS}::test_a_point_covers_what_lies_within_its_radius",
    ),
    "covers without a δ are let in": Mutant(
        "_core/releases/max_cover.py",
        'self.share.kind != "approximate" or not 0 < self.share.delta < 1',
        'self.share.kind != "approximate"',
        f"{LAWS}::test_bad_covers_are_refused_before_the_charge",
    ),
    "foreign grids are let in": Mutant(
        "_core/releases/max_cover.py",
        "nets = data.admit(grids, (Grids,), share).nets()",
        "nets = data.admit(grids, type(grids).__mro__, share).nets()",
        f"{LAWS}::test_bad_covers_are_refused_before_the_charge",
    ),
    "max cover counts rows without noise": Mutant(
        "methods/_base.py",
        "    return max(1.0, float(answer.values[0])), rest\n",
        "    return float(len(curator._data._PrivateData__rows._lattices[curator.box])), rest\n",
        f"{METHOD}::test_only_the_noisy_number_of_rows_is_known",
    ),
    "work is refused too late": Mutant(
        "methods/_max_cover.py",
        "        if grids.work(n) > self.work:\n",
        "        if grids.near(0) > self.work:\n",
        f"{METHOD}::test_too_much_work_is_refused_before_the_cover_is_charged",
    ),
}
