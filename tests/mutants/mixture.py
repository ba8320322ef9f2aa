"""Bugs planted in moments of cells and in mixtures of normal distributions."""

from tests.mutants.mutant import Mutant

LAW = "tests/laws/test_scatter.py"
METHOD = "tests/laws/test_mixture.py"
UNIT = "tests/unit/test_private_mixture.py"
QUERY = "_core/queries/scatter.py"
RELEASE = "_core/releases/scatter.py"
KERNEL = "_lattice/kernels/numpy_loops.py"

MUTANTS = {
    "moments of cells forget the constant": Mutant(
        QUERY,
        "most = (1 << 2 * self.bits) + (1 << 2 * self.bits - 2)",
        "most = 1 << 2 * self.bits",
        f"{LAW}::test_one_row_and_one_group_move_no_more_than_declared",
    ),
    "moments of cells forget the group": Mutant(
        RELEASE,
        "scatter.sensitivity().times(data.rows_per_neighbour)",
        "scatter.sensitivity()",
        f"{LAW}::test_the_noise_is_calibrated_to_the_sensitivity_exactly",
    ),
    "rows far from their centre are not shortened": Mutant(
        KERNEL,
        "unit = np.maximum(lengths, radii[labels])",
        "unit = radii[labels]",
        f"{LAW}::test_one_row_and_one_group_move_no_more_than_declared",
    ),
    "rows with gaps have moments": Mutant(
        QUERY,
        "seen = complete(rows[start : start + _BLOCK_ROWS])",
        "seen = rows[start : start + _BLOCK_ROWS]",
        f"{LAW}::test_moments_of_cells_are_the_definition",
    ),
    "coarser moments with the noise of fine ones": Mutant(
        RELEASE,
        "mechanism, loss = _mechanism(data, coarse, share)",
        "mechanism, loss = _mechanism(data, replace(coarse, bits=COARSEST), share)",
        f"{LAW}::test_the_noise_is_calibrated_to_the_sensitivity_exactly",
    ),
    "a mixture spends on moments what centres have": Mutant(
        "methods/_mixture.py",
        'return self.account.rest("pure", len(self.caps.parts))',
        'return self.account.rest("pure", 0)',
        f"{METHOD}::test_it_spends_its_caps",
    ),
    "flags are numbers of a mixture": Mutant(
        "_private_mixture.py",
        "Category | Ordinal | Flag)",
        "Category | Ordinal)",
        f"{UNIT}::test_columns_with_levels_are_refused_before_the_charge",
    ),
}
