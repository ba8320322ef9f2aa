"""Bugs planted in radii of their own for cells, and in the search for a threshold."""

from tests.mutants.mutant import Mutant

FIRST = "tests/laws/test_first_below.py"
EACH = "tests/laws/test_first_below_each.py"
RADII = "tests/laws/test_counts_radii.py"
KERNELS = "tests/unit/lattice/kernels/test_kernels.py"

MUTANTS = {
    "searches for a threshold use half their noise": Mutant(
        "_core/releases/first_below.py",
        "return 2 * Fraction(self.most) / self.share.amount",
        "return Fraction(self.most) / self.share.amount",
        f"{FIRST}::test_no_index_loses_more_than_the_charge",
    ),
    "searches for a threshold use twice their noise": Mutant(
        "_core/releases/first_below.py",
        "return 2 * Fraction(self.most) / self.share.amount",
        "return 4 * Fraction(self.most) / self.share.amount",
        f"{FIRST}::test_a_hundred_edges_use_up_the_charge_and_more_edges_do_not_pass_it",
    ),
    "half the noise on the counts": Mutant(
        "_core/releases/first_below.py",
        "below = counts + moved[1:] <=",
        "below = counts + moved[1:] // 2 <=",
        f"{FIRST}::test_searches_end_as_often_as_their_chances_say",
    ),
    "no noise on the threshold": Mutant(
        "_core/releases/first_below.py",
        "<= self.threshold + moved[0]\n",
        "<= self.threshold\n",
        f"{FIRST}::test_the_search_is_the_definition",
    ),
    "fresh noise on the threshold for every edge": Mutant(
        "_core/releases/first_below.py",
        "<= self.threshold + moved[0]\n",
        "<= self.threshold + noise.laplace(self.scale, self.size)\n",
        f"{FIRST}::test_searches_end_as_often_as_their_chances_say",
    ),
    "counts at the threshold do not end the search": Mutant(
        "_core/releases/first_below.py",
        "below = counts + moved[1:] <=",
        "below = counts + moved[1:] <",
        f"{FIRST}::test_the_search_is_the_definition",
    ),
    "the last count below instead of the first": Mutant(
        "_core/releases/first_below.py",
        "return int(np.append(below, True).argmax())",
        "return int(below.sum())",
        f"{FIRST}::test_the_search_is_the_definition",
    ),
    "searches forget the group": Mutant(
        "_core/releases/first_below.py",
        "    most = query.sensitivity() * data.rows_per_neighbour\n    search",
        "    most = query.sensitivity()\n    search",
        f"{FIRST}::test_a_group_loses_no_more_than_was_charged_and_nearly_as_much",
    ),
    "rows at an edge are beyond it": Mutant(
        "_lattice/kernels/dispatch.py",
        "np.searchsorted(limits, loops.squares(block, labels, centers))",
        'np.searchsorted(limits, loops.squares(block, labels, centers), side="right")',
        f"{FIRST}::test_a_row_at_the_edge_is_not_beyond_it",
    ),
    "rows count once for each edge": Mutant(
        "_core/queries/first_below.py",
        "np.cumsum(state[..., ::-1], axis=-1)",
        "np.cumsum(np.cumsum(state[..., ::-1], axis=-1), axis=-1)",
        f"{FIRST}::test_rows_move_all_counts_up_and_by_no_more_than_declared",
    ),
    "counts of nearer rows": Mutant(
        "_core/queries/first_below.py",
        "np.cumsum(state[..., ::-1], axis=-1)[..., ::-1][..., 1:]",
        "np.cumsum(state, axis=-1)[..., :-1]",
        f"{FIRST}::test_counts_are_the_definition",
    ),
    "foreign queries about distances are let in": Mutant(
        "_core/releases/first_below.py",
        '    """See `Curator.first_below`."""\n    data.admit(query, (RowsBeyond,), share)',
        '    """See `Curator.first_below`."""\n    data.admit(query, type(query).__mro__, share)',
        f"{FIRST}::test_bad_searches_are_refused_before_the_charge",
    ),
    "searches are read before they are charged": Mutant(
        "_core/releases/first_below.py",
        "    def read(rows: Rows) -> int:\n"
        "        return data.draw(search, query.counts(rows.fold(data.box, query)))\n\n"
        "    return data.release([search.entry()], read)\n",
        "    def read(rows: Rows) -> int:\n"
        "        return data.draw(search, query.counts(rows.fold(data.box, query)))\n\n"
        "    return read(data._PrivateData__rows)\n",
        "tests/laws/test_curator.py::test_every_query_is_charged_before_a_row_is_read",
    ),
    "searches in each cell forget the group": Mutant(
        "_core/releases/first_below.py",
        "    most = query.sensitivity() * data.rows_per_neighbour\n    name, size",
        "    most = query.sensitivity()\n    name, size",
        f"{EACH}::test_a_group_in_several_cells_loses_no_more_than_was_charged_and_nearly_as_much",
    ),
    "one noise for the searches of all cells": Mutant(
        "_core/releases/first_below.py",
        "        return [one.draw(noise, own) for one, own in pairs]\n",
        "        drawn = noise.laplace(self.searches[0].scale, counts.shape[1] + 1)\n"
        "        same = type('Same', (), {'laplace': lambda *_: drawn})()\n"
        "        return [one.draw(same, own) for one, own in pairs]\n",
        f"{EACH}::test_every_cell_is_searched_with_noise_and_a_threshold_of_its_own",
    ),
    "the slack of one search for all cells": Mutant(
        "_core/releases/first_below.py",
        "slack = sum(one.entry().slack for one in self.searches)",
        "slack = entry.slack",
        f"{EACH}::test_the_slack_of_every_search_is_charged",
    ),
    "searches in each cell are not charged": Mutant(
        "_core/releases/first_below.py",
        "    def read(rows: Rows) -> list[int]:\n"
        "        return data.draw(search, query.counts(rows.fold(data.box, query)))\n\n"
        "    return data.release([search.entry()], read)",
        "    def read(rows: Rows) -> list[int]:\n"
        "        return data.draw(search, query.counts(rows.fold(data.box, query)))\n\n"
        "    return read(data._PrivateData__rows)",
        "tests/laws/test_curator.py::test_every_query_is_charged_before_a_row_is_read",
    ),
    "a row counts in the next cell as well": Mutant(
        "_lattice/kernels/dispatch.py",
        "            passed += labels * state.shape[1]\n",
        "            loops.add_counts(passed, state.reshape(-1))\n"
        "            passed += labels * state.shape[1]\n",
        f"{EACH}::test_a_row_moves_one_cell_only_and_its_first_edges_by_one",
    ),
    "foreign queries about each cell are let in": Mutant(
        "_core/releases/first_below.py",
        '    """See `Curator.first_below_each`."""\n    data.admit(query, (RowsBeyond,), share)',
        '    """See `Curator.first_below_each`."""\n'
        "    data.admit(query, type(query).__mro__, share)",
        f"{EACH}::test_bad_searches_are_refused_before_the_charge",
    ),
    "radii of cells are compared with ε of a whole group": Mutant(
        "methods/_auto/full.py",
        "epsilon = fit.per_row(float(share.amount))",
        "epsilon = float(share.amount)",
        "tests/laws/test_auto.py"
        "::test_groups_of_m_rows_with_m_times_the_budget_are_treated_like_rows",
    ),
    "centres that were put elsewhere leave their rows behind": Mutant(
        "methods/_auto/full.py",
        "centers[full] - way, centers[full] + way",
        "centers[empty] - way, centers[empty] + way",
        "tests/unit/methods/auto/test_full.py"
        "::test_an_empty_centre_goes_beside_the_one_with_the_rows_of_two",
    ),
    "every cell's rows are cut to the widest radius": Mutant(
        "_lattice/kernels/dispatch.py",
        "radii = np.minimum(radii, LONGEST)",
        "radii = np.full_like(radii, radii.max())",
        f"{RADII}::test_each_cell_reaches_its_own_radius_and_no_row_more",
    ),
    "compiled loops cut every cell to the radius of the first": Mutant(
        "_lattice/kernels/numba_loops.py",
        "radius = radii[cell]",
        "radius = radii[0]",
        f"{KERNELS}::test_every_cut_gives_the_integers_of_the_oracle",
    ),
    "lines forget the group": Mutant(
        "_core/releases/counts.py",
        "[s.times(data.rows_per_neighbour) for s in query.sensitivities()]",
        "[s.times(1) for s in query.sensitivities()]",
        f"{RADII}::test_a_group_in_several_cells_loses_no_more_than_was_charged",
    ),
    "cylinders forget the group": Mutant(
        "_core/releases/counts.py",
        "Cylinder.fitting(share, query.radii, rows)",
        "Cylinder.fitting(share, query.radii, 1)",
        f"{RADII}::test_a_group_in_several_cells_loses_no_more_than_was_charged",
    ),
    "cylinders for the narrowest cell": Mutant(
        "_core/releases/counts.py",
        "Cylinder.fitting(share, query.radii, rows)",
        "Cylinder.fitting(share, [min(query.radii)] * len(query.radii), rows)",
        f"{RADII}::test_a_row_loses_no_more_than_was_charged_and_all_of_it_where_it_is_cut",
    ),
    "L1 of a radius without the columns": Mutant(
        "_core/queries/counts.py",
        "return Sensitivity(isqrt(self.n_summed * radius * radius), radius * radius)",
        "return Sensitivity(radius, radius * radius)",
        f"{RADII}::test_each_cell_reaches_its_own_radius_and_no_row_more",
    ),
}
