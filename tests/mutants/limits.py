"""Bugs planted in the checks of sizes."""

from tests.mutants.mutant import Mutant

LIMITS = "tests/limits/test_limits.py"

MUTANTS = {
    "powers of grids wrap around": Mutant(
        "_core/queries/cells.py",
        'object.__setattr__(self, "per_axis", int(self.per_axis))',
        "int(self.per_axis)",
        f"{LIMITS}::test_queries_are_sized_in_whole_numbers_of_python",
    ),
    "one axis too few is looked at": Mutant(
        "_core/queries/cells.py",
        "axes = min(self.n_features, MAX_NUMBERS.bit_length())",
        "axes = min(self.n_features, MAX_NUMBERS.bit_length()) - 1",
        f"{LIMITS}::test_a_grid_is_accepted_exactly_if_its_cells_fit",
    ),
    "products of blocks wrap around": Mutant(
        "_core/releases/sample_aggregate.py",
        'k, blocks = check_whole(k, "k"), check_whole(blocks, "blocks")',
        'check_whole(k, "k"), check_whole(blocks, "blocks")',
        f"{LIMITS}::test_queries_are_sized_in_whole_numbers_of_python",
    ),
    "any number of clusters is opened": Mutant(
        "methods/_base.py",
        "    if k > most:\n",
        "    if k > most**9:\n",
        f"{LIMITS}::test_methods_that_compare_all_pairs_take_fewer",
    ),
    "a cap is reserved for any epsilon": Mutant(
        "methods/_base.py",
        "    if task.epsilon > most:\n",
        "    if task.epsilon > most**99:\n",
        f"{LIMITS}::test_an_epsilon_beyond_meaning_is_refused_or_left_unspent",
    ),
}
