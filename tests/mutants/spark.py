"""Bugs planted in what travels to Spark's executors, and in the tasks of COMPSs."""

from tests.mutants.mutant import Mutant

TASKS = "tests/engines/test_spark_tasks.py"
COMPSS = "tests/engines/test_compss.py"

MUTANTS = {
    "Spark deals out the rows of one partition one by one": Mutant(
        "engines/_spark_worker.py",
        "yield _batch(LATTICE, [part], [rows[start : start + step].tobytes()])",
        "yield _batch(LATTICE, [int(rows[start, 0]) % n_parts], "
        "[rows[start : start + step].tobytes()])",
        f"{TASKS}::test_a_partition_goes_to_one_place_whatever_the_order_of_its_rows",
    ),
    "Spark leaves out the last rows of a partition": Mutant(
        "engines/_spark_worker.py",
        "yield buffer[: len(rows)]",
        "yield buffer[: max(0, len(rows) - 1)]",
        f"{TASKS}::test_any_cut_and_any_number_of_parts_give_the_same_sums",
    ),
    "Spark takes all rows of a group": Mutant(
        "engines/_spark_worker.py",
        "in counted(encoder, most, blocks, labels, None):",
        "in counted(encoder, None, blocks, labels, None):",
        f"{TASKS}::test_groups_in_one_partition",
    ),
    "Spark forgets which partitions were added up": Mutant(
        "engines/_spark_worker.py",
        "yield _batch(SENT, [sorted(known)], [place], [total.tobytes()])",
        "yield _batch(SENT, [known[:1]], [place], [total.tobytes()])",
        f"{TASKS}::test_any_cut_and_any_number_of_parts_give_the_same_sums",
    ),
    "Spark adds up a partition twice": Mutant(
        "engines/_spark_worker.py",
        "if set(known) & set(parts):",
        "if not parts:",
        f"{TASKS}::test_what_comes_twice_is_counted_once_or_refused",
    ),
    "Spark fills up what is lost of a sum": Mutant(
        "engines/_spark_worker.py",
        "if len(data) == empty.nbytes:",
        "data = data.ljust(empty.nbytes, b'\\0')\n        if data:",
        f"{TASKS}::test_a_lost_piece_of_a_sum_leaves_its_partition_out",
    ),
    "Spark mixes up the blocks of picked rows": Mutant(
        "engines/_spark_worker.py",
        "numbers = np.frombuffer(data[2 * n * width :], dtype=np.int64)",
        "numbers = np.frombuffer(data[2 * n * width :], dtype=np.int64)[::-1]",
        f"{TASKS}::test_rows_of_blocks",
    ),
    "COMPSs merges a part of what it should": Mutant(
        "engines/_compss.py",
        "return reduce(merge, partials)",
        "return reduce(merge, partials[:7])",
        f"{COMPSS}::test_sums_are_merged_in_a_tree_on_the_workers",
    ),
    "COMPSs lets every row of a group count": Mutant(
        "engines/_compss.py",
        "masks = self._masks(task.encoder)",
        "masks = [m if m is None else m | True for m in self._masks(task.encoder)]",
        f"{COMPSS}::test_groups_that_lie_in_several_pieces",
    ),
}
