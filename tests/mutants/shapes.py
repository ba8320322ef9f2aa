"""Bugs planted in density clusters and trees of clusters."""

from tests.mutants.mutant import Mutant

REGIONS = "tests/unit/synopsis/test_regions.py"
DENSITY = "tests/unit/test_private_dbscan.py"
WARD = "tests/unit/test_private_ward.py"

MUTANTS = {
    "a model's box remembers whether there were rows": Mutant(
        "_private_fit.py",
        "        self.box_ = replace(curator.box)\n",
        "        self.box_ = curator.box\n",
        f"{DENSITY}::test_the_box_of_a_model_has_nothing_but_bounds",
    ),
    "a grid as fine as for one row of a group": Mutant(
        "methods/_histogram.py",
        "grid = _grid(n * float(rest.amount) / task.max_rows_per_group, task.n_features)",
        "grid = _grid(n * float(rest.amount), task.n_features)",
        f"{DENSITY}::test_cells_are_larger_where_noise_is",
    ),
    "too many cells are noticed after the charge": Mutant(
        "methods/_histogram.py",
        "        if 2**task.n_features > _MAX_CELLS:\n",
        "        if 2**task.n_features > 10 * _MAX_CELLS * task.n_features:\n",
        f"{DENSITY}::test_too_many_columns_are_refused_before_the_charge",
    ),
    "noise cuts a cluster in two": Mutant(
        "_synopsis/regions.py",
        "if usual > _CLEAR * density.error(usual):",
        "if usual > 0:",
        f"{REGIONS}::test_noise_does_not_cut_a_ring",
    ),
    "two peaks are one": Mutant(
        "_synopsis/regions.py",
        "            elif height > _VALLEY * heights[other]:\n",
        "            elif height >= 0:\n",
        f"{REGIONS}::test_two_peaks_are_apart_where_the_density_falls_to_half",
    ),
    "a patch of the background is a cluster": Mutant(
        "_synopsis/regions.py",
        "- cells * density.background",
        "- 0 * cells",
        f"{REGIONS}::test_noise_alone_is_no_region",
    ),
    "fewer leaves than clusters raise an error after the charge": Mutant(
        "_private_ward.py",
        "return min(int(self.n_clusters), self.n_leaves_)",
        "return int(self.n_clusters)",
        f"{WARD}::test_fewer_rows_than_clusters_are_no_error",
    ),
}
