"""Bugs planted in weights of rows, and in curators and models with a schema."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_weights.py"
FITS = "tests/laws/test_estimator_schema.py"
CURATOR = "tests/unit/core/test_curator_schema.py"
WEIGHTED = "tests/unit/core/test_weighted.py"
KINDS = "tests/unit/schema/test_weight.py"
MODEL = "tests/unit/test_private_kmeans_schema.py"
RELEASED = "tests/unit/test_released_model_schema.py"
SYNOPSIS = "tests/unit/synopsis/test_synopsis_schema.py"
THREADS = "tests/unit/engines/test_threads.py"

COPIES = f"{LAWS}::test_a_row_moves_a_sum_by_its_copies_and_never_by_more"
OTHERS = f"{CURATOR}::test_other_columns_have_the_same_rows_and_the_same_budget"
OF_A_PART = f"{CURATOR}::test_other_columns_of_a_part_are_rows_of_that_part_charged_with_it"

MUTANTS = {
    "a row is shown as often as it says": Mutant(
        "_core/weighted.py",
        "np.clip(rows[:, -1], 0, most)",
        "np.maximum(rows[:, -1], 0)",
        COPIES,
    ),
    "a negative number of copies is one": Mutant(
        "_core/weighted.py",
        "np.clip(rows[:, -1], 0, most)",
        "np.clip(rows[:, -1], 1, most)",
        COPIES,
    ),
    "the first rows of a block are shown alone": Mutant(
        "_core/weighted.py",
        "for start in range(0, len(rows), step):",
        "for start in range(0, min(len(rows), step), step):",
        f"{LAWS}::test_large_blocks_are_cut_and_each_row_is_shown_once",
    ),
    "blocks by hash have rows that are not repeated": Mutant(
        "_core/weighted.py",
        "return (repeated(block, self.most) for block in",
        "return (repeated(block, 1) for block in",
        f"{LAWS}::test_blocks_by_hash_change_in_one_block_alone",
    ),
    "copies of copies": Mutant(
        "_core/weighted.py",
        "if isinstance(rows, WeightedRows):",
        "if isinstance(rows, int):",
        f"{LAWS}::test_copies_of_copies_are_refused",
    ),
    "any encoding is taken for that of the schema": Mutant(
        "_core/weighted.py",
        "if box != Box(self.box.lower[:-1], self.box.upper[:-1], self.box.nan):",
        "if box.n_features not in (self.n_features, self.n_features + 1):",
        f"{LAWS}::test_copies_of_copies_are_refused",
    ),
    "the noise is that of one copy": Mutant(
        "_core/private_data.py",
        "self.rows_per_neighbour = (rows.max_rows_per_group or 1) * self.copies",
        "self.rows_per_neighbour = rows.max_rows_per_group or 1",
        f"{LAWS}::test_the_charge_is_used_up_by_a_row_of_the_largest_weight",
    ),
    "the noise is that of one row of a group": Mutant(
        "_core/private_data.py",
        "self.rows_per_neighbour = (rows.max_rows_per_group or 1) * self.copies",
        "self.rows_per_neighbour = max(rows.max_rows_per_group or 1, self.copies)",
        f"{LAWS}::test_a_person_more_loses_no_more_than_was_charged",
    ),
    "rows per group that are chosen forget their copies": Mutant(
        "_core/private_data.py",
        "other.rows_per_neighbour = max_rows * self.copies",
        "other.rows_per_neighbour = max_rows",
        f"{LAWS}::test_rows_per_group_that_are_chosen_keep_their_copies",
    ),
    "weights are forgotten when rows are kept": Mutant(
        "_core/weighted.py",
        "return WeightedRows(self.rows.keeping(max_rows), self.box, self.most)",
        "return WeightedRows(self.rows.keeping(max_rows), self.box, 1)",
        f"{WEIGHTED}::test_what_rows_say_of_themselves",
    ),
    "a method plans with the noise of one copy": Mutant(
        "_private_fit.py",
        "max_rows_per_group=opened.rows_per_neighbour,",
        "max_rows_per_group=1,",
        f"{MODEL}::test_a_declared_number_of_rows_is_the_sum_of_weights",
    ),
    "a weight above its bound is more copies": Mutant(
        "_schema/weight.py",
        "clipped = np.clip(read.numbers(cells), *self.ends)",
        "clipped = read.numbers(cells)",
        f"{KINDS}::test_a_weight_is_so_many_copies",
    ),
    "a missing weight is one copy": Mutant(
        "_schema/weight.py",
        "np.where(np.isnan(clipped), 0.0,",
        "np.where(np.isnan(clipped), 1.0,",
        f"{LAWS}::test_a_record_more_in_a_file_or_a_frame_is_so_many_equal_rows",
    ),
    "a row of no cells counts by its weight": Mutant(
        "_schema/encoding.py",
        "dropped |= (copies == 0) | np.isnan(points[:, :-1]).all(axis=1)",
        "dropped |= copies == 0",
        f"{KINDS}::test_a_row_without_any_cell_does_not_count_whatever_its_weight",
    ),
    "sizes are counts of copies": Mutant(
        "_private_kmeans.py",
        "found.sizes * unit_of(curator.schema)",
        "found.sizes",
        f"{MODEL}::test_sizes_and_synopses_are_in_units_of_weight",
    ),
    "the noise of a synopsis is in another unit than its weights": Mutant(
        "_synopsis/__init__.py",
        "noise_std=self.noise_std * unit",
        "noise_std=self.noise_std",
        f"{SYNOPSIS}::test_another_unit_of_weight",
    ),
    "a declared number of rows is a number of copies": Mutant(
        "_private_fit.py",
        "n_rows = round(Fraction(n_rows) / Fraction(unit_of(schema)))",
        "n_rows = round(n_rows)",
        f"{MODEL}::test_a_declared_number_of_rows_is_the_sum_of_weights",
    ),
    "other columns come with a budget of their own": Mutant(
        "_core/parts.py",
        "return data_type(rows, schema.box, data.ledger, opening.noise), replace(",
        "return data_type(rows, schema.box, Ledger(*data.ledger.total), opening.noise), replace(",
        OTHERS,
    ),
    "other columns of a part are those of the whole table": Mutant(
        "_core/parts.py",
        "if self.key is not None:",
        "if self.key is None and self.limit == 0:",
        OF_A_PART,
    ),
    "a part forgets which one it is": Mutant(
        "_core/parts.py",
        "part = replace(part, schema=schema, key=key)",
        "part = replace(part, schema=schema)",
        OF_A_PART,
    ),
    "other columns forget the rows kept of each group": Mutant(
        "_core/parts.py",
        "groups, limit = self.labels, self.limit",
        "groups, limit = self.labels, 1",
        f"{CURATOR}::test_groups_and_rows_kept_of_each_stay",
    ),
    "the number of rows that was chosen is not kept": Mutant(
        "_core/curator.py",
        "notes=(chosen.note,), limit=chosen.number)",
        "notes=(chosen.note,))",
        f"{LAWS}::test_rows_per_group_that_are_chosen_keep_their_copies",
    ),
    "rows opened without groups pass for people": Mutant(
        "_core/parts.py",
        "elif schema.groups is not None and X.max_rows_per_group is None:",
        "elif schema.groups is not None and X.max_rows_per_group == 0:",
        f"{CURATOR}::test_rows_opened_without_groups_are_refused_where_the_schema_names_them",
    ),
    "a schema's groups are not opened": Mutant(
        "_core/parts.py",
        "opening = replace(opening, labels=schema.groups_with(opening.labels))",
        "schema.groups_with(opening.labels)",
        f"{CURATOR}::test_groups_and_rows_kept_of_each_stay",
    ),
    "columns of opened rows get other names": Mutant(
        "_core/parts.py",
        'if elsewhere(opening.X) == "rows" and schema != opening.schema:',
        'if elsewhere(opening.X) == "row" and schema != opening.schema:',
        f"{CURATOR}::test_rows_that_are_opened_already_keep_their_columns",
    ),
    "the order of columns is no part of a schema": Mutant(
        "_schema/schema.py",
        "            and list(self.columns) == list(other.columns)\n",
        "",
        f"{CURATOR}::test_rows_that_are_opened_already_keep_their_columns",
    ),
    "bounds by name are not compared with those of a ledger": Mutant(
        "_core/declared.py",
        "return _agreeing(Schema.of_bounds(bounds, nan), ledger.bounds)",
        "return Schema.of_bounds(bounds, nan)",
        f"{CURATOR}::test_bounds_that_disagree_with_a_ledger_are_refused",
    ),
    "one bound of two is compared with that of a ledger": Mutant(
        "_core/declared.py",
        "_plain(list(column.ends)) != _plain(pair)",
        "_plain(list(column.ends))[:1] != _plain(pair)[:1]",
        f"{CURATOR}::test_bounds_that_disagree_with_a_ledger_are_refused",
    ),
    "a table with a schema is divided by the bounds of its ledger": Mutant(
        "_core/parts.py",
        "elif opening.schema is None and data.ledger.bounds is not None:",
        "elif data.ledger.bounds is not None:",
        f"{CURATOR}::test_bounds_that_agree_can_be_fitted_and_divided",
    ),
    "bounds by name forget what becomes of missing cells": Mutant(
        "_schema/schema.py",
        "found[name] = Number(lower, upper, missing=missing)",
        "found[name] = Number(lower, upper)",
        f"{CURATOR}::test_bounds_by_name_are_a_schema",
    ),
    "bounds by name read the first columns": Mutant(
        "engines/_cells.py",
        "    return [names.index(name) for name in schema.inputs]",
        "    return list(range(len(schema.inputs)))",
        f"{CURATOR}::test_columns_go_by_name_and_others_are_left_alone",
    ),
    "shares of levels do not add up": Mutant(
        "_schema/encoding.py",
        "shares = column.decoded(found[:, place] / column.weight)",
        "shares = (found[:, place] / column.weight / np.sqrt(0.5) + 1) / 2",
        f"{MODEL}::test_shares_of_levels_are_distributions_whatever_the_noise",
    ),
    "centres are not settled": Mutant(
        "_private_fit.py",
        "model.encoded_centers_ = schema.settled(points / REACH)",
        "model.encoded_centers_ = points / REACH",
        f"{MODEL}::test_shares_of_levels_are_distributions_whatever_the_noise",
    ),
    "a fit fails on its own rows after the charge": Mutant(
        "engines/_cells.py",
        '    if own is schema or hasattr(data, "columns"):\n',
        "    if own is schema or data is not None:\n",
        f"{RELEASED}::test_fit_predict_takes_what_fit_takes",
    ),
    "what was left of an earlier fit stays": Mutant(
        "_released_model.py",
        "        del model.__dict__[name]\n",
        "        model.__dict__.get(name)\n",
        f"{RELEASED}::test_a_request_that_is_answered_again_leaves_nothing_of_another_fit",
    ),
    "a request does not know the schema": Mutant(
        "_released_model.py",
        '**({"schema": curator.schema.to_dict()} if curator.schema else {}),',
        "",
        f"{CURATOR}::test_a_request_is_another_one_with_another_schema",
    ),
    "a synopsis forgets its schema in a file": Mutant(
        "_synopsis/__init__.py",
        '            **({"schema": self.schema.to_dict()} if self.schema else {}),\n',
        "",
        f"{SYNOPSIS}::test_a_file_keeps_the_schema",
    ),
    "what cells hold decides on an error": Mutant(
        "_schema/encoding.py",
        "                codes, points[:, self.places[name]] = column.encoded(given)\n",
        "                codes, points[:, self.places[name]] = column.encoded(given)\n"
        "                if len(codes) and np.isnan(codes).all():\n"
        '                    raise ValueError(f"column {name!r} has no known cell")\n',
        f"{FITS}::test_nothing_leaves_beside_the_answers",
    ),
    "the sample of levels becomes part of the receipt": Mutant(
        "_private_fit.py",
        "notes=(*curator.notes, *notes, *found.notes, _nan_note(curator.box.nan)),",
        "notes=(*curator.notes, *notes, str(len(getattr(curator._opening.X, 'index', [])))),",
        f"{FITS}::test_nothing_leaves_beside_the_answers",
    ),
    "threads of one fit are those of the next": Mutant(
        "engines/_threads.py",
        "        _WANTED.reset(token)",
        "        _WANTED.get()",
        f"{THREADS}::test_a_number_counts_inside_its_block_alone",
    ),
}
