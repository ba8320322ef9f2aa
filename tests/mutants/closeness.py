"""Bugs planted in the scores of closeness, and in their release."""

from tests.mutants.mutant import Mutant

LAW = "tests/laws/test_closeness.py"
QUERY = "_core/queries/closeness.py"
RELEASE = "_core/releases/closeness.py"
EXACT = f"{LAW}::test_sums_are_the_definition_for_any_cut"
WORST = f"{LAW}::test_the_worst_neighbour_loses_what_was_charged_and_no_more"

MUTANTS = {
    "closeness gets noise for one of its three numbers": Mutant(
        QUERY,
        "return Sensitivity(3 * REACH, 3 * REACH * REACH)",
        "return Sensitivity(REACH, REACH * REACH)",
        f"{LAW}::test_the_declared_change_is_reached_and_by_groups",
    ),
    "closeness forgets the group under cube noise": Mutant(
        RELEASE,
        "cube = Cube.fitting(share, rows)",
        "cube = Cube.fitting(share, 1)",
        WORST,
    ),
    "closeness forgets the group under Gaussian noise": Mutant(
        RELEASE,
        "query.sensitivity().times(rows)",
        "query.sensitivity()",
        WORST,
    ),
    "scores weigh more than counts": Mutant(
        QUERY,
        "np.array([REACH, REACH // STEPS, REACH // STEPS])",
        "np.array([REACH, REACH // STEPS, 2 * REACH // STEPS])",
        f"{LAW}::test_exhaustively_on_a_small_domain",
    ),
    "costs are not clipped": Mutant(
        QUERY,
        'np.searchsorted(self._edges[radius], near[there], side="right")',
        "near[there] * STEPS // (radius * radius)",
        f"{LAW}::test_exhaustively_on_a_small_domain",
    ),
    "a distance at an edge has the score below": Mutant(
        QUERY,
        'side="right"',
        'side="left"',
        EXACT,
    ),
    "costs are clipped at another cell's radius": Mutant(
        QUERY,
        "np.array(self.radii, dtype=np.int64)[labels]",
        "np.array(self.radii, dtype=np.int64)[labels * 0]",
        EXACT,
    ),
    "squares of many columns wrap": Mutant(
        QUERY,
        "near, far = near >> shift, far >> shift",
        "near, far = near << shift, far << shift",
        f"{LAW}::test_in_many_columns_nothing_wraps",
    ),
    "two centres at one place divide by zero": Mutant(
        QUERY,
        "np.where(far == 0, 1, near), np.maximum(far, 1)",
        "near, np.maximum(far, 1)",
        EXACT,
    ),
    "rows without a column are in the first cell": Mutant(
        "_lattice/kernels/dispatch.py",
        "there = block[(block != ABSENT).any(axis=1)]",
        "there = block",
        EXACT,
    ),
    "absent coordinates count as far away": Mutant(
        "_lattice/kernels/dispatch.py",
        "np.square(gaps.filled(there, 0), dtype=np.float64)",
        "np.square(there, dtype=np.float64)",
        EXACT,
    ),
    "a query that could keep rows is let in": Mutant(
        RELEASE,
        "data.admit(query, (Closeness,), share)",
        "data.admit(query, (type(query),), share)",
        f"{LAW}::test_bad_queries_are_refused_before_the_charge",
    ),
}
