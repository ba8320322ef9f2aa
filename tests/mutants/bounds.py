"""Bugs planted where bounds are released."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_histograms.py"
UNIT = "tests/unit/private_bounds/test_estimate.py"

MUTANTS = {
    "histograms forget the number of columns": Mutant(
        "_core/queries/histograms.py",
        "return Sensitivity(d, d)",
        "return Sensitivity(1, 1)",
        f"{LAWS}::test_one_row_moves_one_bin_of_each_column_at_most",
    ),
    "slices for one column less than is looked at": Mutant(
        "_core/queries/histograms.py",
        "return sum(low is not None for low in self.lower)",
        "return max(1, sum(low is not None for low in self.lower) - 1)",
        f"{LAWS}::test_no_answer_loses_more_than_it_was_charged",
    ),
    "slices for columns that are not looked at": Mutant(
        "_core/queries/histograms.py",
        "return sum(low is not None for low in self.lower)",
        "return len(self.lower)",
        f"{LAWS}::test_the_charge_is_used_up_by_the_worst_neighbour",
    ),
    "histograms for more rows than can change": Mutant(
        "_core/queries/histograms.py",
        "return Sensitivity(d, d)",
        "return Sensitivity(2 * d, 2 * d)",
        f"{LAWS}::test_the_charge_is_used_up_by_the_worst_neighbour",
    ),
    "histograms forget the group": Mutant(
        "_core/releases/histograms.py",
        "query.sensitivity().times(self._data.rows_per_neighbour)",
        "query.sensitivity()",
        f"{LAWS}::test_a_whole_group_loses_no_more_than_was_charged",
    ),
    "missing cells counted in the last bin": Mutant(
        "_core/queries/histograms.py",
        "            counts += np.bincount(places[places != MISSING], minlength=len(counts))\n",
        "            counts += np.bincount(places[places != MISSING], minlength=len(counts))\n"
        "            counts[-1] += np.count_nonzero(places == MISSING)\n",
        f"{UNIT}::test_missing_cells_are_counted_nowhere_and_spoil_no_other_cell",
    ),
    "slices as wide as the block of rows": Mutant(
        "_core/queries/histograms.py",
        "            inside = (values >= low) & (values <= high)\n",
        "            low, high = values.min(axis=0), values.max(axis=0)\n"
        "            inside = (values >= low) & (values <= high)\n",
        f"{LAWS}::test_the_bin_of_a_cell_depends_on_that_cell_alone",
    ),
    "the second histogram is not charged": Mutant(
        "_private_bounds/estimate.py",
        "        counts, scale = _ask(curator, _equal_bins(narrow, d, FINE), for_fine)\n",
        "        account.charge, kept = (lambda entries: range(0)), account.charge\n"
        "        counts, scale = _ask(curator, _equal_bins(narrow, d, FINE), for_fine)\n"
        "        account.charge = kept\n",
        f"{LAWS}::test_every_query_is_charged_before_a_row_is_read",
    ),
    "the second look spends what the first one has spent": Mutant(
        "_private_bounds/estimate.py",
        'again = _ask(curator, LogBins(d), account.rest("pure"))',
        "again = _ask(curator, LogBins(d), for_logs)",
        f"{LAWS}::test_no_answer_loses_more_than_it_was_charged",
    ),
    "every histogram spends the whole share": Mutant(
        "_private_bounds/estimate.py",
        'account.rest("pure").split(*_WEIGHTS)',
        '[account.rest("pure")] * 3',
        f"{LAWS}::test_every_query_is_charged_before_a_row_is_read",
    ),
    "exact counts, noise on the rest": Mutant(
        "_core/releases/histograms.py",
        "            return self._data.perturb(part.mechanism, rows.fold(binning, query))\n",
        "            exact = rows.fold(binning, query)\n"
        "            return exact + (self._data.perturb(part.mechanism, 0 * exact) *"
        " (exact == 0))\n",
        f"{LAWS}::test_no_answer_loses_more_than_it_was_charged",
    ),
    "bounds chosen with the exact counts": Mutant(
        "_core/releases/histograms.py",
        "            return self._data.perturb(part.mechanism, rows.fold(binning, query))\n",
        "            exact = rows.fold(binning, query)\n"
        "            return np.where(exact > 0, self._data.perturb(part.mechanism, exact), 0)\n",
        f"{LAWS}::test_no_answer_loses_more_than_it_was_charged",
    ),
    "rows are read before the share is checked": Mutant(
        "_core/releases/histograms.py",
        "self._data.admit(Histogram(binning), (Histogram,), share)",
        "self._data.admit(Histogram(binning), (Histogram,))",
        f"{LAWS}::test_foreign_and_unfitting_binnings_are_refused_before_the_charge",
    ),
    "subclasses of binnings are let in": Mutant(
        "_core/private_data.py",
        "    if type(query) not in kinds:\n",
        "    if not isinstance(query, tuple(kinds)):\n",
        f"{LAWS}::test_foreign_and_unfitting_binnings_are_refused_before_the_charge",
    ),
    "the method gets the whole budget as well": Mutant(
        "_private_bounds/estimate.py",
        "taken = SLICE * self._estimates + ",
        "taken = ",
        f"{UNIT}::test_a_fit_releases_its_bounds_first",
    ),
    "the receipt forgets the bounds": Mutant(
        "_private_fit.py",
        "(*before, account)",
        "(account,)",
        f"{UNIT}::test_the_receipt_shows_both_parts_and_their_exact_sum",
    ),
    "bounds as narrow as they come": Mutant(
        "_private_bounds/ranges.py",
        "    if upper / 2 - lower / 2 >= least:\n",
        "    if upper > lower:\n",
        "tests/unit/private_bounds/test_ranges_equal_bins.py::test_bounds_are_as_far_apart_as_a_box_needs",
    ),
}
