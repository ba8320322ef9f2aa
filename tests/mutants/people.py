"""Bugs planted where groups are counted, and where rows per group are chosen."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_group_sizes.py"
UNIT = "tests/unit/core/releases/test_group_sizes.py"
FIT = "tests/unit/test_private_kmeans_people.py"

MORE = f"{LAWS}::test_a_group_more_moves_one_count_by_one"
LOST = f"{LAWS}::test_a_neighbour_gets_the_same_number_and_loses_what_was_charged"

MUTANTS = {
    "bins hold rows instead of groups": Mutant(
        "engines/_groups.py",
        "    return np.bincount(capped, minlength=most + 1)[1:].astype(np.int64)",
        "    return np.bincount(capped, capped, minlength=most + 1)[1:].astype(np.int64)",
        MORE,
    ),
    "a group is counted in each of its pieces": Mutant(
        "engines/_files.py",
        "sizes_of(self._groups, most))",
        "sum(sizes_of([own], most) for own in self._groups))",
        f"{LAWS}::test_a_person_more_in_a_text_file",
    ),
    "rows without a label are left out of the sizes": Mutant(
        "engines/_memory.py",
        "sizes_of([codes_of(self._groups)], most)",
        "sizes_of([codes_of([g for g in self._groups if g not in (None, '')])], most)",
        MORE,
    ),
    "groups larger than any size are counted nowhere": Mutant(
        "engines/_groups.py",
        "    capped = np.minimum(rows[rows > 0], most)\n",
        "    capped = rows[(rows > 0) & (rows <= most)]\n",
        f"{LAWS}::test_of_any_number_of_rows",
    ),
    "a smaller bin beside that of a group moves too": Mutant(
        "_core/queries/group_sizes.py",
        "        return np.add.reduceat(each, [0, *self.edges[:-1]])",
        "        return np.cumsum(np.add.reduceat(each, [0, *self.edges[:-1]])[::-1])[::-1]",
        MORE,
    ),
    "half of the noise that a group needs": Mutant(
        "_core/releases/group_sizes.py",
        "    mechanism = independent(share, most)\n",
        "    mechanism = independent(Share(share.kind, 2 * share.amount), most)\n",
        LOST,
    ),
    "twice the noise that a group needs": Mutant(
        "_core/queries/group_sizes.py",
        "        return Sensitivity(1, 1)",
        "        return Sensitivity(2, 4)",
        LOST,
    ),
    "noise for each row of a group": Mutant(
        "_core/releases/group_sizes.py",
        "    most = query.sensitivity()\n",
        "    most = query.sensitivity().times(data.rows_per_neighbour)\n",
        f"{LAWS}::test_the_noise_is_that_of_one_group_whatever_its_rows",
    ),
    "groups are counted before the charge": Mutant(
        "_core/releases/group_sizes.py",
        "    def read(rows: Rows) -> Ints:\n"
        "        return data.perturb(mechanism, query.count(rows))\n",
        "    counted = query.count(data._PrivateData__rows)\n\n"
        "    def read(rows: Rows) -> Ints:\n"
        "        return data.perturb(mechanism, counted)\n",
        f"{LAWS}::test_groups_are_counted_after_the_charge",
    ),
    "the number is chosen by exact counts": Mutant(
        "_core/releases/group_sizes.py",
        "    number = best_limit(answer, query.edges, float(epsilon))",
        "    exact = query.count(data._PrivateData__rows).astype(np.float64)\n"
        "    number = best_limit(Answer(exact, 1e-9), query.edges, float(epsilon))",
        f"{UNIT}::test_made_tables",
    ),
    "more rows of a group than its noise is for": Mutant(
        "_core/private_data.py",
        "        other.rows_per_neighbour = max_rows * self.copies\n",
        "",
        f"{FIT}::test_a_curator_chooses_rows_per_group_once",
    ),
    "a fit has what the sizes cost": Mutant(
        "_private_bounds/estimate.py",
        " + SLICE_OF_GROUPS * self._chooses",
        "",
        f"{FIT}::test_rows_per_group_are_chosen_with_a_twentieth",
    ),
    "the number that was chosen is not used": Mutant(
        "_private_bounds/estimate.py",
        "            self.rows = self.rows.keeping(chosen.number)\n",
        "",
        f"{FIT}::test_rows_per_group_and_bounds_together",
    ),
}
