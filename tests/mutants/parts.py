"""Bugs planted in parts side by side: which rows are in, and what all parts reserve."""

from tests.mutants.mutant import Mutant

BUDGETS = "tests/unit/accounting/test_parallel.py"
PARTS = "tests/unit/core/test_parts.py"
LAW = "tests/laws/test_parts.py"

MUTANTS = {
    "parts reserve what the first of them does": Mutant(
        "_accounting/parallel.py",
        "            if more > 0:",
        "            if more > 0 and unit not in self._reserved:",
        f"{BUDGETS}::test_parts_cost_as_much_as_the_dearest",
    ),
    "a part pays for its dearest fit, not for all of them": Mutant(
        "_accounting/parallel.py",
        "more = taken.get(unit, self._nothing) + amount - reserved",
        "more = amount - reserved",
        f"{BUDGETS}::test_no_part_ever_holds_more_than_all_have_reserved",
    ),
    "the rise is that of another part": Mutant(
        "_accounting/parallel.py",
        "taken, found = self._taken.get(part, {}), dict[str, _Amount]()",
        "taken, found = next(iter(self._taken.values()), {}), dict[str, _Amount]()",
        f"{BUDGETS}::test_no_part_ever_holds_more_than_all_have_reserved",
    ),
    "a part gives back what it was charged": Mutant(
        "_accounting/parallel.py",
        "if account in self.accounts and not account.entries:",
        "if account in self.accounts:",
        f"{BUDGETS}::test_what_was_charged_is_not_given_back",
    ),
    "what parts reserved can be spent once more": Mutant(
        "_accounting/budget.py",
        "            self._accounts[account].append(used)",
        "            del used",
        f"{BUDGETS}::test_nobody_can_charge_or_cancel_what_the_parts_reserved",
    ),
    "parts of a durable ledger forget what they took without a rise": Mutant(
        "_ledger/durable.py",
        "self._parallel.take(self._part, full)",
        "self._parallel.take(self._part, cost)",
        f"{PARTS}::test_a_durable_part_that_was_not_charged_gives_back_to_the_parts",
    ),
    "a request about one part is answered with another": Mutant(
        "_ledger/durable.py",
        'if (found.body["settings"], found.body["part"]) != (settings, self._part):',
        'if found.body["settings"] != settings:',
        f"{PARTS}::test_a_durable_ledger_reserves_the_largest_and_tells_parts_apart",
    ),
    "rows without a label are in every part": Mutant(
        "engines/_groups.py",
        "type(own) is str and own == key for own in keys",
        "type(own) is str and own in (key, NO_LABEL) for own in keys",
        f"{LAW}::test_a_row_moves_its_own_part_and_no_other",
    ),
    "all rows of a file are in every part": Mutant(
        "engines/_partitions.py",
        "yield values[inside]",
        "yield values",
        f"{LAW}::test_a_row_moves_its_own_part_on_every_table",
    ),
    "labels of a file start again with every block": Mutant(
        "engines/_partitions.py",
        "has_key(islice(labels, len(values)), self.part)",
        "has_key(islice(self.labels(), len(values)), self.part)",
        f"{PARTS}::test_blocks_of_a_file_have_their_own_labels",
    ),
    "groups are divided": Mutant(
        "_core/parts.py",
        "if opening.refusal or opening.labels is not None:",
        "if opening.refusal:",
        f"{PARTS}::test_groups_cannot_be_divided",
    ),
    "the part of a view has all columns": Mutant(
        "_core/curator.py",
        "replace(self._opening, refusal=VIEWED, schema=None)",
        "replace(self._opening, schema=None)",
        f"{PARTS}::test_parts_and_views_and_opened_rows_cannot_be_divided",
    ),
}
