"""Bugs planted in the first queries, samplers and methods."""

from tests.mutants.mutant import Mutant

SENSITIVITY = "tests/laws/test_counts.py"
REPLAY = "tests/laws/test_replay.py"
METHODS = "tests/laws/test_methods.py"
CURATOR = "tests/laws/test_curator.py"
BLOCKS = "tests/laws/test_sample_aggregate.py"
SAMPLERS = "tests/stats/test_samplers.py"

MUTANTS = {
    "sums forget the number of columns": Mutant(
        "_core/queries/counts.py",
        "return Sensitivity(d * REACH, d * REACH * REACH)",
        "return Sensitivity(REACH, REACH * REACH)",
        f"{SENSITIVITY}::test_one_row_moves_no_more_than_declared",
    ),
    "sensitivity one step too small": Mutant(
        "_core/queries/counts.py",
        "return Sensitivity(d * REACH, d * REACH * REACH)",
        "return Sensitivity(d * REACH - 1, d * REACH * REACH - 1)",
        f"{SENSITIVITY}::test_a_corner_reaches_the_declared_sensitivity",
    ),
    "variance for deviation": Mutant(
        "_core/mechanisms.py",
        "return cls(root_above(sensitivity.l2_squared / share.amount))",
        "return cls(sensitivity.l2_squared / share.amount)",
        f"{REPLAY}::test_the_charge_is_used_up_by_the_worst_neighbour",
    ),
    "root drawn twice": Mutant(
        "_core/mechanisms.py",
        "return cls(root_above(sensitivity.l2_squared / share.amount))",
        "return cls(root_above(root_above(sensitivity.l2_squared / share.amount)))",
        f"{REPLAY}::test_every_noise_and_schedule_of_dplloyd",
    ),
    "noise for twice the share": Mutant(
        "_core/mechanisms.py",
        "return cls(Fraction(sensitivity.l1) / share.amount)",
        "return cls(Fraction(sensitivity.l1) / (2 * share.amount))",
        f"{REPLAY}::test_every_noise_and_schedule_of_dplloyd",
    ),
    "cube noise for one row, whatever the group": Mutant(
        "_core/mechanisms.py",
        "return cls(Fraction(REACH * rows) / share.amount)",
        "return cls(Fraction(REACH) / share.amount)",
        f"{REPLAY}::test_a_whole_group_loses_no_more_than_was_charged",
    ),
    "independent noise forgets the group": Mutant(
        "_core/queries/cells.py",
        "return Sensitivity(self.l1 * rows, self.l2_squared * rows * rows)",
        "return Sensitivity(self.l1, self.l2_squared)",
        f"{SENSITIVITY}::test_a_group_moves_no_more_than_its_rows_together",
    ),
    "L2 of a group grows with the root of its rows": Mutant(
        "_core/queries/cells.py",
        "return Sensitivity(self.l1 * rows, self.l2_squared * rows * rows)",
        "return Sensitivity(self.l1 * rows, self.l2_squared * rows)",
        f"{SENSITIVITY}::test_a_group_moves_no_more_than_its_rows_together",
    ),
    "exact counts, noisy sums": Mutant(
        "_core/private_data.py",
        "        return exact + noise\n",
        "        return exact + (noise if exact.shape[1] > 1 else 0)\n",
        f"{CURATOR}::test_the_stated_deviation_is_the_measured_one",
    ),
    "no noise on empty cells": Mutant(
        "_core/private_data.py",
        "        return exact + noise\n",
        "        return exact + noise * (exact != 0)\n",
        f"{CURATOR}::test_the_stated_deviation_is_the_measured_one",
    ),
    "one scalar of noise for a whole answer": Mutant(
        "_core/private_data.py",
        "        return exact + noise\n",
        "        return exact + noise.ravel()[0]\n",
        f"{CURATOR}::test_the_stated_deviation_is_the_measured_one",
    ),
    "joint counts in the wrong unit": Mutant(
        "_core/releases/counts.py",
        "            chosen[:, 0] *= REACH\n",
        "            chosen[:, 0] *= 1\n",
        f"{CURATOR}::test_joint_noise_answers_counts_and_sums_of_the_same_pass",
    ),
    "rows are read before the charge": Mutant(
        "_core/private_data.py",
        "        positions = self.ledger.charge(account, entries)\n"
        "        result = read(self.__rows)\n",
        "        result = read(self.__rows)\n"
        "        positions = self.ledger.charge(account, entries)\n",
        f"{CURATOR}::test_every_query_is_charged_before_a_row_is_read",
    ),
    "subclasses of queries are let in": Mutant(
        "_core/private_data.py",
        "    if type(query) not in kinds:\n",
        "    if not isinstance(query, tuple(kinds)):\n",
        f"{CURATOR}::test_foreign_queries_are_refused_before_the_charge",
    ),
    "shares of any ledger are taken": Mutant(
        "_core/private_data.py",
        "if share.account.ledger is not self.ledger:",
        "if share.account.ledger is None:",
        f"{CURATOR}::test_bad_queries_are_refused_before_the_charge",
    ),
    "every iteration spends the whole share": Mutant(
        "methods/_dplloyd.py",
        ".split(*self.weights())",
        ".split(1) * len(self.weights())",
        f"{METHODS}::test_spends_exactly_its_share_and_what_the_receipt_says",
    ),
    "the last halving step loses its half": Mutant(
        "methods/_dplloyd.py",
        "return [2 ** max(iterations - 2 - i, 0) for i in range(iterations)]",
        "return [2 ** (iterations - 1 - i) for i in range(iterations)]",
        "tests/unit/methods/test_dplloyd.py::test_schedules",
    ),
    "shares of counts and sums swapped": Mutant(
        "methods/_dplloyd.py",
        "count_share, sum_share = share.split(*ratio)",
        "sum_share, count_share = share.split(*ratio)",
        "tests/unit/methods/test_dplloyd.py::test_counts_and_sums_share_the_budget_at_the_least_erro"
        "r",
    ),
    "the same key in every call": Mutant(
        "_core/sampling/stream.py",
        "os.urandom(32) if key is None else key",
        "bytes(32) if key is None else key",
        f"{METHODS}::test_noise_is_fresh_in_every_fit",
    ),
    "minus zero counted twice": Mutant(
        "_core/sampling/additive.py",
        "            again = again[negative & (magnitude == 0)]\n",
        "            again = again[:0]\n",
        f"{SAMPLERS}::test_guarantee_of_laplace[1/2]",
    ),
    "geometric digits shifted": Mutant(
        "_core/sampling/additive.py",
        "1 / (1 + context.exp(rate * 2 ** len(found)))",
        "1 / (1 + context.exp(rate * 1.15 * 2 ** len(found)))",
        f"{SAMPLERS}::test_guarantee_of_laplace[1/2]",
    ),
    "the last rows are lost": Mutant(
        "engines/_memory.py",
        "pairwise([*starts, n_rows]))",
        "pairwise([*starts, n_rows - 1]))",
        f"{CURATOR}::test_any_order_and_any_cut_give_the_same_integers",
    ),
    "clipped rows rounded to the nearest": Mutant(
        "_lattice/kernels/numpy_loops.py",
        "np.trunc(offsets[far] * reach",
        "np.rint(offsets[far] * reach",
        f"{SENSITIVITY}::test_one_row_moves_no_more_than_declared",
    ),
    "missing cells take a value from other rows": Mutant(
        "_lattice/box.py",
        "scaled[~finite] = missing",
        "scaled[~finite] = scaled[finite].sum() % 100",
        "tests/unit/lattice/test_box.py::test_a_row_becomes_the_same_whatever_stands_beside_it",
    ),
    "groups keep their first rows": Mutant(
        "engines/_groups.py",
        "order = np.lexsort((hashes, codes[rows]))",
        "order = np.lexsort((rows, codes[rows]))",
        "tests/unit/engines/test_groups.py"
        "::test_groups_keep_few_rows_which_depend_on_their_own_rows_alone",
    ),
    "groups of rows that were opened before count as rows": Mutant(
        "_core/private_data.py",
        "self.rows_per_neighbour = (rows.max_rows_per_group or 1) * self.copies",
        "self.rows_per_neighbour = self.copies",
        f"{CURATOR}::test_rows_opened_with_groups_are_protected_as_groups",
    ),
    "costs forget the number of columns": Mutant(
        "_core/queries/choose.py",
        "return int(points.shape[-1]) * (2 * REACH) ** 2",
        "return (2 * REACH) ** 2",
        "tests/laws/test_choose.py::test_one_row_moves_every_score_down_and_by_no_more_than_declare"
        "d",
    ),
    "costs forget how far apart corners are": Mutant(
        "_core/queries/choose.py",
        "return int(points.shape[-1]) * (2 * REACH) ** 2",
        "return int(points.shape[-1]) * REACH**2",
        "tests/laws/test_choose.py::test_the_far_corner_reaches_the_declared_sensitivity",
    ),
    "costs wrap": Mutant(
        "_lattice/kernels/costs.py",
        "state[:, 0] += costs >> LIMB",
        "state[:, 0] += 0 * costs",
        "tests/laws/test_choose.py::test_costs_are_the_definition",
    ),
    "every pick costs a part and uses the whole": Mutant(
        "_core/releases/choose.py",
        "epsilon=self.share.amount,",
        "epsilon=2 * self.share.amount,",
        "tests/laws/test_choose.py::test_a_choice_is_as_peaked_as_its_share",
    ),
    "quantiles forget that a block has k values": Mutant(
        "_core/releases/sample_aggregate.py",
        "Selection(name, part, self.k * self.rows, monotone=False, candidates=_LEVELS)",
        "Selection(name, part, self.rows, monotone=False, candidates=_LEVELS)",
        f"{BLOCKS}::test_a_replaced_block_moves_ranks_and_sums_by_no_more_than_declared",
    ),
    "replaced values taken for monotone": Mutant(
        "_core/releases/sample_aggregate.py",
        "Selection(name, part, self.k * self.rows, monotone=False, candidates=_LEVELS)",
        "Selection(name, part, self.k * self.rows, monotone=True, candidates=_LEVELS)",
        f"{BLOCKS}::test_a_replaced_block_moves_ranks_and_sums_by_no_more_than_declared",
    ),
    "means forget that a block has k centres": Mutant(
        "_core/releases/sample_aggregate.py",
        "widths = [max(1, int(high - low)) * self.k * self.rows for low, high in ranges]",
        "widths = [max(1, int(high - low)) * self.rows for low, high in ranges]",
        f"{BLOCKS}::test_a_replaced_block_moves_ranks_and_sums_by_no_more_than_declared",
    ),
    "blocks by position": Mutant(
        "engines/_rows.py",
        "numbers = block_numbers(lattice, parts, key)",
        "numbers = np.arange(len(lattice)) % parts",
        f"{BLOCKS}::test_order_does_not_show",
    ),
    "short blocks show their rows": Mutant(
        "_core/releases/sample_aggregate.py",
        "    centers[inside.sum(axis=1) < k] = 0\n",
        "    centers[inside.sum(axis=1) < k] = 1\n",
        f"{BLOCKS}::test_short_blocks_have_an_output_that_looks_at_no_row",
    ),
    "groups are not capped": Mutant(
        "engines/_groups.py",
        "rank < most",
        "rank >= 0",
        f"{REPLAY}::test_a_whole_group_loses_no_more_than_was_charged",
    ),
    "μ² rounded up": Mutant(
        "_accounting/gaussian_dp.py",
        "return _round(mu * mu, 50, up=False)",
        "return _round(mu * mu, 50, up=True)",
        "tests/unit/accounting/test_gaussian_dp.py::test_calibration_gives_back_what_the_conversion_take"
        "s",
    ),
    "an account is checked against what is asked alone": Mutant(
        "_accounting/budget.py",
        "if any(u + a > c for u, a, c in zip(used, asked, cap, strict=True)):",
        "if any(a > c for u, a, c in zip(used, asked, cap, strict=True)):",
        "tests/unit/accounting/test_budget.py::test_overspent_names_total_spent_asked_and_affordabl"
        "e",
    ),
    "a ledger forgets δ": Mutant(
        "_accounting/budget.py",
        "asked, used = (caps.epsilon, caps.delta), self.spent",
        "asked, used = (caps.epsilon, Fraction(0)), self.spent",
        "tests/unit/accounting/test_budget.py::test_delta_is_checked_on_its_own",
    ),
    "charged accounts are taken back": Mutant(
        "_accounting/budget.py",
        "if a is not account or e}",
        "if a is not account}",
        "tests/unit/accounting/test_budget.py::test_only_an_account_without_a_charge_is_taken_back",
    ),
    "selection forgets the factor 2": Mutant(
        "_core/sampling/choice.py",
        "(sensitivity if monotone else 2 * sensitivity)",
        "sensitivity",
        "tests/unit/core/sampling/test_choice.py"
        "::test_probabilities_sum_to_one_and_respect_epsilon[exponential]",
    ),
}
