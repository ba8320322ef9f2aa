"""Bugs in what a schema makes of cells, and in how engines read a table through it."""

from tests.mutants.mutant import Mutant

CELLS = "tests/unit/schema/test_cells.py"
KINDS = "tests/unit/schema/test_kinds.py"
LEVELS = "tests/unit/schema/test_levels.py"
SCHEMA = "tests/unit/schema/test_schema.py"
LAW = "tests/laws/test_source_schema.py"

MUTANTS = {
    "an unknown level is the first": Mutant(
        "_schema/cells.py",
        "float(levels.get(key, math.nan))",
        "float(levels.get(key, 0))",
        f"{LEVELS}::test_unknown_levels_are_missing_and_no_other_level",
    ),
    "a missing date is 1970": Mutant(
        "_schema/cells.py",
        "np.where(np.isnat(times), np.nan, whole + rest / MICROSECONDS)",
        "np.where(np.isnat(times), 0.0, whole + rest / MICROSECONDS)",
        f"{CELLS}::test_arrays_of_times",
    ),
    "a time with a zone is taken as it is written": Mutant(
        "_schema/cells.py",
        "time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)",
        "time.replace(tzinfo=UTC)",
        f"{CELLS}::test_each_cell_by_itself_and_beside_others",
    ),
    "digits are dates without a pattern": Mutant(
        "_schema/cells.py",
        "    if text.isdecimal():\n        raise ValueError\n",
        "",
        f"{CELLS}::test_each_cell_by_itself_and_beside_others",
    ),
    "equal numbers are one cell, whatever their keys": Mutant(
        "_schema/cells.py",
        "if _joined(cells) is None:",
        "if _joined(map(str, cells)) is None:",
        f"{LEVELS}::test_a_row_is_encoded_by_itself",
    ),
    "an underscore in a number depends on the other cells": Mutant(
        "_schema/cells.py",
        'return float(cell) if cell.isascii() and "_" not in cell else math.nan',
        "return float(cell)",
        f"{CELLS}::test_order_and_cuts_change_nothing",
    ),
    "an infinite number is one": Mutant(
        "_schema/cells.py",
        "return np.where(np.isfinite(found), found, np.nan)",
        "return found",
        f"{CELLS}::test_each_cell_by_itself_and_beside_others",
    ),
    "what lies outside is not clipped": Mutant(
        "_schema/kinds.py",
        "place = (np.clip(codes, low, high) - low) / (high - low)",
        "place = (codes - low) / (high - low)",
        f"{LEVELS}::test_ordinals_lie_in_order_on_a_line",
    ),
    "a scale begins where the block does": Mutant(
        "_schema/kinds.py",
        'place = np.searchsorted(_edges(self._scale, *self.ends), codes, side="right")',
        "place = np.searchsorted(_edges(self._scale, *self.ends) + np.nanmin(codes) - self.lower,"
        ' codes, side="right")',
        f"{KINDS}::test_a_row_is_encoded_by_itself",
    ),
    "a missing cell of a scale is its end": Mutant(
        "_schema/kinds.py",
        "np.where(np.isnan(codes), np.nan, 2 * (place / _STEPS) - 1)",
        "(2 * (place / _STEPS) - 1)",
        f"{KINDS}::test_ends_are_two_apart_and_what_lies_outside_is_clipped",
    ),
    "the policy center is forgotten": Mutant(
        "_schema/kinds.py",
        'if self.missing == "center":',
        'if self.missing == "middle":',
        f"{KINDS}::test_policies_for_missing_cells",
    ),
    "levels are more than one weight apart": Mutant(
        "_schema/levels.py",
        "points[present, codes[present].astype(np.int64)] = math.sqrt(0.5)",
        "points[present, codes[present].astype(np.int64)] = 1.0",
        f"{LEVELS}::test_levels_are_one_weight_apart",
    ),
    "weights are forgotten": Mutant(
        "_schema/kinds.py",
        "return codes, points * self.weight",
        "return codes, points",
        f"{LEVELS}::test_levels_are_one_weight_apart",
    ),
    "a row to be dropped stays": Mutant(
        "_schema/encoding.py",
        "points[dropped] = np.nan",
        "points[dropped] = 0",
        f"{SCHEMA}::test_the_lattice_leaves_dropped_rows_out",
    ),
    "one dropped row drops its block": Mutant(
        "_schema/encoding.py",
        "dropped |= np.isnan(codes)",
        "dropped |= np.isnan(codes).any()",
        f"{SCHEMA}::test_rows_are_encoded",
    ),
    "coordinates are in the order of the table": Mutant(
        "_schema/encoding.py",
        "codes, points[:, self.places[name]] = column.encoded(given)",
        "codes, points[:, [*self.places.values()][[*self.features].index(name)]] = "
        "column.encoded(given)",
        f"{SCHEMA}::test_rows_are_encoded",
    ),
    "columns of a frame are taken by position": Mutant(
        "engines/_cells.py",
        "return [names.index(name) for name in schema.inputs]",
        "return [*range(len(schema.features))]",
        f"{LAW}::test_frames_are_read_by_name",
    ),
    "masked cells are read": Mutant(
        "engines/_cells.py",
        "if not isinstance(array, np.ma.MaskedArray):",
        "if True:",
        f"{LAW}::test_arrays_are_read_by_position",
    ),
    "a zone of pandas is dropped": Mutant(
        "engines/_cells.py",
        "series.dt.tz_convert(None).to_numpy()",
        "series.dt.tz_localize(None).to_numpy()",
        f"{LAW}::test_frames_are_read_by_name",
    ),
    "a record with few fields takes cells of the next": Mutant(
        "engines/formats/_csv.py",
        "if marks == 0 or any(line.count(mark) != marks for line in lines):",
        "if marks == 0:",
        "tests/unit/engines/formats/test_csv_columns.py::test_records_keep_their_cells",
    ),
    "fields beyond the last column are cells of the next record": Mutant(
        "engines/formats/_csv.py",
        '[*row[:width], *[""] * (width - len(row))]',
        '[*row, *[""] * (width - len(row))]',
        "tests/unit/engines/formats/test_csv_columns.py::test_records_keep_their_cells",
    ),
    "rows of a partition have the labels of others": Mutant(
        "engines/_dask_worker.py",
        "points[OWNER] = frame[owner].array",
        "points[OWNER] = frame[owner].array[::-1]",
        f"{LAW}::test_frames_of_dask_without_a_client",
    ),
}
