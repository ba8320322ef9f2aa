"""Bugs planted where few tests went: beside the answers of a fit, beyond one block, in rare draws.

Each is found by a fixed example, at the first try.
"""

from tests.mutants.mutant import Mutant

FIT = "tests/laws/test_estimator.py"
COMMAND = "tests/laws/test_commands.py"
SCHEMA = "tests/e2e/test_cli_schema.py"
HASHING = "tests/laws/test_hashing.py"
LINES = "tests/unit/core/sampling/test_joint_rare.py"
CHOICES = "tests/unit/core/sampling/test_choice_rare.py"

NOTHING = f"{FIT}::test_nothing_leaves_beside_the_answers"
NEIGHBOUR = f"{FIT}::test_a_neighbour_is_asked_the_same_and_loses_what_was_charged"
DOUBTED = f"{LINES}::test_lines_that_float_would_get_wrong"
AT_EDGES = f"{LINES}::test_lines_at_the_edges_take_more_bits"
OPEN = f"{CHOICES}::test_no_choice_is_made_as_long_as_a_bit_could_change_it"
AT_ONCE = f"{CHOICES}::test_choices_are_made_as_soon_as_no_bit_can_change_them"

_ESTIMATOR = {
    "the exact number of rows, where none is declared": Mutant(
        "_private_fit.py",
        "for_method, delta, n_rows)",
        "for_method, delta, len(X) if n_rows is None else n_rows)",
        NOTHING,
    ),
    "no more clusters than rows": Mutant(
        "_private_fit.py",
        "*(k, opened",
        "*(min(k, max(1, len(X))), opened",
        NOTHING,
    ),
    "fewer rows than clusters are refused": Mutant(
        "_private_fit.py",
        "        caps = method.caps(task)\n",
        "        if len(X) < k:\n"
        '            raise ValueError("there are fewer rows than clusters")\n'
        "        caps = method.caps(task)\n",
        NOTHING,
    ),
    "the receipt tells the number of rows": Mutant(
        "_private_fit.py",
        "(*before, account), notes)",
        '(*before, account), (f"{len(X)} rows", *notes))',
        NEIGHBOUR,
    ),
    "the receipt tells that rows were clipped": Mutant(
        "_private_fit.py",
        "(*before, account), notes)",
        '(*before, account), (*(("rows were clipped",) * bool(np.any(X > np.array('
        "curator.box.upper)))), *notes))",
        NEIGHBOUR,
    ),
    "a model remembers how many rows it has seen": Mutant(
        "_private_fit.py",
        "        name_features(self, X, groups, schema)\n",
        "        name_features(self, X, groups, schema)\n        self.n_samples_seen_ = len(X)\n",
        NEIGHBOUR,
    ),
    "a warning where a cell is not a number": Mutant(
        "_private_fit.py",
        "        caps = method.caps(task)\n",
        "        if np.isnan(np.asarray(X, dtype=np.float64)).any():\n"
        "            import warnings\n\n"
        '            warnings.warn("some cells are not numbers", stacklevel=2)\n'
        "        caps = method.caps(task)\n",
        NEIGHBOUR,
    ),
    "a line of the log tells the number of rows": Mutant(
        "_private_fit.py",
        "        caps = method.caps(task)\n",
        "        import logging\n\n"
        '        logging.getLogger("sfumato").debug("fitting %d rows", len(X))\n'
        "        caps = method.caps(task)\n",
        NEIGHBOUR,
    ),
    "noise for the largest group that there is": Mutant(
        "_private_fit.py",
        "            max_rows_per_group=self.max_rows_per_group,\n",
        "            max_rows_per_group=self.max_rows_per_group\n"
        "            if groups is None or isinstance(groups, str)\n"
        "            else min(\n"
        "                self.max_rows_per_group,\n"
        "                int(max(np.unique(groups, return_counts=True)[1], default=1)),\n"
        "            ),\n",
        f"{FIT}::test_groups_of_any_size",
    ),
    "twice the ε that was asked for": Mutant(
        "_private_fit.py",
        "epsilon, delta = check_epsilon(self.epsilon),",
        "epsilon, delta = 2 * check_epsilon(self.epsilon),",
        NEIGHBOUR,
    ),
    "a saved model tells when rows were missing": Mutant(
        "_private_fit.py",
        "        self._keep(found, curator, (*before, account), notes)\n",
        "        self._keep(found, curator, (*before, account), notes)\n"
        "        if not np.isnan(np.asarray(X, dtype=np.float64)).any():\n"
        "            box = curator.box\n"
        '            self.box_ = type(box)(box.lower, box.upper, "center")\n',
        f"{FIT}::test_nothing_leaves_of_rows_that_are_dropped",
    ),
    "a fit prints the number of rows": Mutant(
        "cli/_fit.py",
        "    alone = left_alone(layout)\n",
        "    with open(request.data[0]) as lines:\n"
        '        out.print(f"{sum(1 for _ in lines) - 1} rows")\n'
        "    alone = left_alone(layout)\n",
        f"{COMMAND}::test_fit_prints_and_writes_the_answers_alone",
    ),
    "a fit in JSON tells the size of the file": Mutant(
        "cli/_fit.py",
        '"written_to": str(request.target), ',
        '"written_to": str(request.target), "bytes": Path(request.data[0]).stat().st_size, ',
        f"{COMMAND}::test_fit_prints_and_writes_the_answers_alone",
    ),
    "the check before a fit tells what it has seen": Mutant(
        "cli/_inspect.py",
        "        if not report.clean:\n",
        '        print(f"{report.rows} rows")\n        if not report.clean:\n',
        f"{COMMAND}::test_fit_prints_and_writes_the_answers_alone",
    ),
}

_HASHING = {
    "hashes look at the start of their block": Mutant(
        "engines/_groups.py",
        "        mixed = hashes[start : start + _BLOCK_ROWS]\n",
        "        mixed = hashes[start : start + _BLOCK_ROWS]\n        mixed ^= np.uint64(start)\n",
        f"{HASHING}::test_equal_rows_have_one_hash_wherever_they_lie",
    ),
    "hashes look at the place of a row beyond the first block": Mutant(
        "engines/_groups.py",
        "    return hashes\n",
        "    hashes[_BLOCK_ROWS:] ^= np.arange(_BLOCK_ROWS, n, dtype=np.uint64)\n"
        "    return hashes\n",
        f"{HASHING}::test_a_row_more_moves_no_other_row_to_another_block",
    ),
    "hashes of the second block are mixed once more": Mutant(
        "engines/_groups.py",
        "    return hashes\n",
        "    _mix(hashes[_BLOCK_ROWS : 2 * _BLOCK_ROWS])\n    return hashes\n",
        f"{HASHING}::test_a_row_more_changes_one_block_by_that_row",
    ),
    "compiled hashes are others beyond a block": Mutant(
        "engines/_groups.py",
        "    return hashes\n",
        "    from sfumato._lattice.kernels import dispatch\n\n"
        '    if dispatch.backend == "numba":\n        _mix(hashes[_BLOCK_ROWS:])\n'
        "    return hashes\n",
        f"{HASHING}::test_the_hash_of_every_row_is_that_of_the_row_alone",
    ),
    "hashes of rows by columns read another row": Mutant(
        "engines/_groups.py",
        "        block = rows[start : start + _BLOCK_ROWS]\n",
        "        block = rows[start : start + _BLOCK_ROWS]\n"
        "        block = block if rows.flags.c_contiguous else rows[: len(block)]\n",
        f"{HASHING}::test_any_order_any_slice_and_any_memory_give_the_same_hashes",
    ),
    "blocks by the number of rows of a piece": Mutant(
        "engines/_rows.py",
        "return (hash_rows(rows, key) %",
        "return (hash_rows(rows, key + len(rows)) %",
        f"{HASHING}::test_a_row_more_moves_no_other_row_to_another_block",
    ),
    "groups keep rows by the length of the table": Mutant(
        "engines/_groups.py",
        "hash_rows(lattice, KEY)[rows]",
        "hash_rows(lattice, KEY + (len(lattice) >> 14))[rows]",
        f"{HASHING}::test_groups_keep_the_rows_with_the_least_hashes_of_their_own",
    ),
    "groups keep rows of the first block first": Mutant(
        "engines/_groups.py",
        "    hashes = hash_rows(lattice, KEY)[rows]\n",
        "    hashes = hash_rows(lattice, KEY)[rows] >> 1\n"
        "    hashes |= (rows >= 2**14).astype(np.uint64) << 63\n",
        f"{HASHING}::test_groups_keep_the_rows_with_the_least_hashes_of_their_own",
    ),
    "groups in pieces keep rows of the first piece first": Mutant(
        "engines/_files.py",
        "hash_rows(lattice[kept], KEY), rows.astype(np.int64))",
        "hash_rows(lattice[kept], KEY) >> np.uint64(part), rows.astype(np.int64))",
        f"{HASHING}::test_groups_that_lie_in_many_pieces_keep_the_same_rows",
    ),
}

_LINES = {
    "no limit below which squares are settled": Mutant(
        "_core/sampling/joint.py",
        "_FLAT = 2.0**-20",
        "_FLAT = 0.0",
        f"{LINES}::test_lines_of_tiny_squares_are_settled",
    ),
    "a length of nearly nothing is not doubted": Mutant(
        "_core/sampling/joint.py",
        "doubt = gamma + k / 16",
        "doubt = gamma",
        DOUBTED,
    ),
    "many squares are doubted as one": Mutant(
        "_core/sampling/joint.py",
        "(m * shares + 1.0 / shares)",
        "(1.0 / shares)",
        DOUBTED,
    ),
    "products of uniform numbers lose their digits": Mutant(
        "_core/sampling/joint.py",
        "_FLOAT_FACTORS = 15",
        "_FLOAT_FACTORS = 17",
        f"{LINES}::test_products_of_tiny_uniform_numbers_keep_their_digits",
    ),
    "lines are settled whatever later bits say": Mutant(
        "_core/sampling/joint.py",
        "line.context.ldexp(unit * (gamma + body.gammas), edge + 60 - bits)",
        "line.context.mpf(0)",
        f"{LINES}::test_lines_that_320_bits_would_get_wrong",
    ),
    "lines are settled next to 0": Mutant(
        "_core/sampling/joint.py",
        "min(logged) < least or max(logged)",
        "max(logged)",
        AT_EDGES,
    ),
    "lines are settled next to 1": Mutant(
        "_core/sampling/joint.py",
        " or max(logged) >= (1 << bits) - least:",
        ":",
        AT_EDGES,
    ),
    "normal draws are settled whatever later bits say": Mutant(
        "_core/sampling/additive.py",
        "context.ldexp(as_real(context, sigma), edge + 60 - bits)",
        "context.mpf(0)",
        f"{LINES}::test_normal_draws_that_320_bits_would_get_wrong",
    ),
    "normal draws are settled next to 0": Mutant(
        "_core/sampling/additive.py",
        "if not 1 << (bits - edge) <= raws[0] < (1 << bits)",
        "if not raws[0] < (1 << bits)",
        f"{LINES}::test_normal_draws_at_the_edges_take_more_bits",
    ),
}

_CHOICES = {
    "uniform numbers of few digits are taken for full ones": Mutant(
        "_core/sampling/stream.py",
        "np.where(values[short] > 0, longer, 0.0)",
        "longer",
        f"{LINES}::test_words_of_zero_are_settled",
    ),
    "radii are settled whatever later bits say": Mutant(
        "_core/sampling/additive.py",
        "return below if below == ((raws[0] + 1) * denominator <= numerator) else None",
        "return below",
        f"{CHOICES}::test_radii_that_320_bits_leave_open",
    ),
    "uniform numbers are settled whatever later bits say": Mutant(
        "_core/sampling/exact.py",
        "((raws[0] + 1) * bound - 1) >> bits",
        "raws[0] * bound >> bits",
        f"{CHOICES}::test_uniform_numbers_below_a_bound_that_320_bits_leave_open",
    ),
    "Bernoulli draws are settled whatever later bits say": Mutant(
        "_core/sampling/bernoulli.py",
        "first == ((raws[0] + 1) * chance.denominator <= limit)",
        "first is not None",
        f"{CHOICES}::test_bernoulli_draws_that_320_bits_leave_open",
    ),
    "flips are settled whatever later bits say": Mutant(
        "_core/sampling/choice.py",
        "if (raws[0] + 1) << _SPARE_BITS",
        "if raws[0] << _SPARE_BITS",
        f"{CHOICES}::test_flips_that_320_bits_leave_open",
    ),
    "choices are settled whatever later bits say": Mutant(
        "_core/sampling/choice.py",
        "if i < len(sums) - 1 and (raw + 1)",
        "if i < len(sums) - 1 and raw",
        f"{CHOICES}::test_choices_that_320_bits_leave_open",
    ),
    "classes are settled whatever later bits say": Mutant(
        "_core/sampling/choice.py",
        "if i < len(sums) - 1 and (raw + 1)",
        "if i < len(sums) - 1 and raw",
        f"{CHOICES}::test_classes_that_320_bits_leave_open",
    ),
    "exact weights of a choice are taken for right to the last bit": Mutant(
        "_core/sampling/choice.py",
        "_place(sums, 2 * len(sums), raws[0], bits)",
        "_place(sums, 0, raws[0], bits)",
        OPEN,
    ),
    "exact weights of classes are taken for right to the last bit": Mutant(
        "_core/sampling/choice.py",
        "_place(sums, 6 * size, raws[0], bits)",
        "_place(sums, 0, raws[0], bits)",
        OPEN,
    ),
    "no bits to spare for a choice": Mutant(
        "_core/sampling/choice.py",
        "_SPARE_BITS = 64",
        "_SPARE_BITS = 0",
        AT_ONCE,
    ),
    "no bits to spare for so many candidates": Mutant(
        "_core/sampling/choice.py",
        "bits + _SPARE_BITS + size.bit_length()",
        "bits + _SPARE_BITS",
        AT_ONCE,
    ),
    "a band for few candidates": Mutant(
        "_core/sampling/choice.py",
        "(math.isqrt(gaps.size) + 5)",
        "1",
        f"{CHOICES}::test_choices_among_very_many_are_settled_where_sums_in_float_are_off",
    ),
    "unlikely candidates are made likelier": Mutant(
        "_core/sampling/choice.py",
        "_FAR = 4096",
        "_FAR = 16",
        f"{CHOICES}::test_chances_of_nearly_nothing_stay_what_they_are",
    ),
    "rates beyond float64 are turned into float64": Mutant(
        "_core/sampling/choice.py",
        "_TAME = Fraction(2) ** 500",
        "_TAME = Fraction(2) ** 5000",
        f"{CHOICES}::test_rates_beyond_float_choose_alike",
    ),
}

_SCHEMAS = {
    "the check before a fit with a schema tells what it has seen": Mutant(
        "cli/_inspect.py",
        "    if report.clean:\n        return\n",
        '    print(f"{report.rows} rows")\n    if report.clean:\n        return\n',
        f"{COMMAND}::test_fit_with_a_schema_prints_and_writes_the_answers_alone",
    ),
    "a template tells how many values a column has": Mutant(
        "cli/_schema.py",
        "    text = template(request.data.name, guesses, persons)\n",
        "    text = template(request.data.name, guesses, persons)\n"
        '    text += "".join(f"# {look.distinct}\\n" for look in looks)\n',
        f"{SCHEMA}::test_a_template_has_the_kinds_and_no_value_of_a_row",
    ),
    "a schema with blanks is read": Mutant(
        "_schema/toml.py",
        "    if blanks:\n",
        "    if False:\n",
        f"{SCHEMA}::test_blanks_are_named_all_at_once",
    ),
    "a refused fit shows the cell that it could not read": Mutant(
        "cli/_inspect.py",
        'Place(wrong[0].first or 0, wrong[0].name)}"',
        'Place(wrong[0].first or 0, str(wrong[0].unknown))}"',
        f"{SCHEMA}::test_fit_with_a_schema_refuses_before_anything_is_spent",
    ),
}

MUTANTS = {**_ESTIMATOR, **_HASHING, **_LINES, **_CHOICES, **_SCHEMAS}
