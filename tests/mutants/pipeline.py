"""Bugs planted in steps in front of a fit."""

from tests.mutants.mutant import Mutant

PIPELINE = "tests/unit/test_pipeline.py"
ROWWISE = "tests/unit/test_rowwise.py"

MUTANTS = {
    "a step is fitted on the rows": Mutant(
        "_rowwise.py",
        "    fitted = _fitted(step, made_up)\n",
        "    fitted = _fitted(step, X)\n",
        f"{PIPELINE}::test_a_step_never_sees_the_rows_when_it_is_fitted",
    ),
    "a row that a step fails on raises": Mutant(
        "_rowwise.py",
        "            yield from _guarded(step, X, places[half:], shape)\n        return\n",
        "            yield from _guarded(step, X, places[half:], shape)\n        raise\n",
        f"{ROWWISE}::test_rows_that_are_left_out_or_raise_have_missing_cells",
    ),
    "steps of steps are not looked at": Mutant(
        "_pipeline.py",
        "            _check_step(part, public)\n",
        "            pass\n",
        f"{PIPELINE}::test_steps_that_learn_are_refused_before_any_row",
    ),
    "last bits depend on other rows": Mutant(
        "_rowwise.py",
        "single=single or not all(exact)",
        "single=single",
        f"{ROWWISE}::test_products_are_made_one_row_at_a_time",
    ),
}
