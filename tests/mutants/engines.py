"""Bugs planted in partitions, in files that are read in pieces, and in what is held of them."""

from tests.mutants.mutant import Mutant

PARTS = "tests/unit/engines/test_partitions.py"
FILES = "tests/laws/test_engines_files.py"
EVERY = f"{PARTS}::test_any_order_any_cut_and_any_repetition_count_each_row_once"
CUT = f"{FILES}::test_any_cut_gives_the_same_integers"
GROUPS = f"{FILES}::test_groups_keep_the_rows_that_they_keep_in_memory"
UNIT = "tests/unit/engines/test_files_pieces.py"

MUTANTS = {
    "a second copy of a partition is counted": Mutant(
        "engines/_partitions.py",
        "        if known == fresh:\n            return False\n",
        "        if known == fresh:\n            known = set()\n",
        EVERY,
    ),
    "a missing partition is tolerated": Mutant(
        "engines/_partitions.py",
        "        if missing:\n",
        "        if missing == self._n_parts:\n",
        f"{PARTS}::test_a_missing_partition_is_an_error",
    ),
    "one missing partition is forgiven": Mutant(
        "engines/_partitions.py",
        "        missing = self._n_parts - len(self._seen)\n",
        "        missing = max(0, self._n_parts - len(self._seen) - 1)\n",
        f"{PARTS}::test_a_missing_partition_fails_closed_and_the_charge_stands",
    ),
    "partly known partitions are counted": Mutant(
        "engines/_partitions.py",
        "        if known:\n            raise RuntimeError(",
        "        if len(known) > len(fresh):\n            raise RuntimeError(",
        f"{PARTS}::test_a_tally_refuses_what_it_cannot_tell_apart",
    ),
    "unknown partitions are counted": Mutant(
        "engines/_partitions.py",
        "not all(0 <= part < self._n_parts for part in fresh)",
        "not all(0 <= part for part in fresh)",
        f"{PARTS}::test_a_tally_refuses_what_it_cannot_tell_apart",
    ),
    "overlapping partials are merged": Mutant(
        "engines/_rows.py",
        "    if twice:\n",
        "    if twice == set(one.parts):\n",
        f"{PARTS}::test_merging_adds_disjoint_sets_and_refuses_others",
    ),
    "a merge forgets the partitions of one side": Mutant(
        "engines/_rows.py",
        "return Partial((*one.parts, *other.parts), one.state + other.state)",
        "return Partial(one.parts, one.state + other.state)",
        f"{PARTS}::test_merging_adds_disjoint_sets_and_refuses_others",
    ),
    "a tally writes into the first state": Mutant(
        "engines/_partitions.py",
        "        self._state += partial.state\n",
        "        if self._seen:\n            self._state += partial.state\n"
        "        else:\n            self._state = partial.state\n",
        f"{PARTS}::test_a_tally_leaves_the_states_it_was_given_alone",
    ),
    "states of another shape are broadcast": Mutant(
        "engines/_partitions.py",
        "if self._state.shape != partial.state.shape:",
        "if self._state.ndim != partial.state.ndim:",
        f"{PARTS}::test_a_tally_refuses_what_it_cannot_tell_apart",
    ),
    "rows that are dropped are counted in tasks": Mutant(
        "engines/_rows.py",
        "yield rows if kept.all() else rows[kept]",
        "yield rows",
        EVERY,
    ),
    "tasks forget the group": Mutant(
        "engines/_rows.py",
        "    if max_rows is None or chosen is not None:\n",
        "    if max_rows is None or chosen is not None or labels is not None:\n",
        f"{PARTS}::test_groups_that_lie_in_one_partition_keep_the_rows_that_they_keep_in_an_array",
    ),
    "collected blocks lose their last row": Mutant(
        "engines/_rows.py",
        "wanted = (places >= self.first) & (places < self.last)",
        "wanted = (places >= self.first) & (places < self.last - 1)",
        f"{PARTS}::test_blocks_are_those_of_an_array_however_few_are_held",
    ),
    "all blocks are held at once": Mutant(
        "engines/_partitions.py",
        "if number > first and held + size > most:",
        "if number > first and held > 10**9:",
        f"{PARTS}::test_blocks_that_are_held_stay_below_the_limit",
    ),
    "rows that change between passes are taken": Mutant(
        "engines/_partitions.py",
        "        if not np.array_equal(counts.total(), sizes):\n",
        "        if counts.total().sum() > sizes.sum():\n",
        f"{PARTS}::test_rows_that_change_between_two_passes_are_noticed",
    ),
    "pieces of a text file overlap": Mutant(
        "engines/formats/_text.py",
        "_Limited(raw, stop - span[0])",
        "_Limited(raw, stop - span[0] + 1)",
        CUT,
    ),
    "lines are cut in two": Mutant(
        "engines/formats/_records.py",
        "start = offset + int(ends[i]) + 1",
        "start = offset + int(ends[i])",
        f"{UNIT}::test_spans_begin_where_records_do_and_hold_every_byte",
    ),
    "the last piece of a text file is left out": Mutant(
        "engines/formats/_records.py",
        "return [*pairwise(cuts), (cuts[-1], None)]",
        "return [*pairwise(cuts)] or [(cuts[-1], None)]",
        CUT,
    ),
    "the last row group is left out": Mutant(
        "engines/formats/_parquet.py",
        "if held >= rows or end == len(sizes):",
        "if held >= rows:",
        CUT,
    ),
    "pieces of an array overlap": Mutant(
        "engines/formats/_npy.py",
        "span=(i, min(i + rows, stop))",
        "span=(i, min(i + rows + 1, stop))",
        CUT,
    ),
    "arrays by columns are read by rows": Mutant(
        "engines/formats/_npy.py",
        "                if self.by_columns:\n",
        "                if self.by_columns and not first:\n",
        CUT,
    ),
    "each piece keeps its own few rows of a group": Mutant(
        "engines/_files.py",
        "        rows = np.concatenate((rows, self._rows[seen].ravel()))\n",
        "        rows = np.concatenate((rows, np.full(seen.size * self._most, _NO_ROW)))\n",
        GROUPS,
    ),
    "groups keep a row more": Mutant(
        "engines/_files.py",
        "GroupSampler([len(codes) for codes in self._groups], self.max_rows_per_group)",
        "GroupSampler([len(codes) for codes in self._groups], self.max_rows_per_group + 1)",
        GROUPS,
    ),
    "groups are numbered anew in each piece": Mutant(
        "engines/_files.py",
        "codes = numbered(piece.labels(), known)",
        "codes = numbered(piece.labels())",
        GROUPS,
    ),
    "rows that are dropped take the place of others of their group": Mutant(
        "engines/_files.py",
        "            own = codes[start:stop][kept].astype(np.int64)\n",
        "            kept = np.ones_like(kept)\n"
        "            own = codes[start:stop][kept].astype(np.int64)\n",
        GROUPS,
    ),
    "files that change between passes are read on": Mutant(
        "engines/_partitions.py",
        "            if file.stamp() != stamp:\n",
        "            if file.stamp()[0] < stamp[0]:\n",
        f"{UNIT}::test_files_that_change_are_refused",
    ),
    "a file given twice is counted twice": Mutant(
        "engines/formats/_storage.py",
        "    if twice is not None:\n",
        "    if twice is None and not found:\n",
        f"{UNIT}::test_a_file_is_counted_once",
    ),
}
