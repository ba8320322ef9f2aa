"""Bugs planted where odd input is refused, and where rows could leave unseen."""

from tests.mutants.mutant import Mutant

FUZZ = "tests/fuzz/test_fuzz.py"
CANARIES = "tests/fuzz/test_canaries.py"

MUTANTS = {
    "what is refused is shown": Mutant(
        "engines/_memory.py",
        "    frame_of(X)\n    raise refusal\n",
        "    raise refusal\n",
        f"{CANARIES}::test_errors_name_no_cell",
    ),
    "labels that are refused are shown": Mutant(
        "engines/_groups.py",
        'one label per row; their numbers differ")',
        'one label per row; their numbers differ: {list(groups)[:3]}")',
        f"{CANARIES}::test_errors_name_no_cell",
    ),
    "a model keeps the rows": Mutant(
        "_private_fit.py",
        "        self.box_ = replace(curator.box)\n",
        "        self.box_ = replace(curator.box)\n        self.rows_ = curator._opening.X\n",
        f"{CANARIES}::test_models_hold_no_row",
    ),
    "rows are kept in a temporary file": Mutant(
        "_core/private_data.py",
        "        result = read(self.__rows)\n",
        "        import tempfile\n        tempfile.mkstemp()\n        result = read(self.__rows)\n",
        f"{CANARIES}::test_a_killed_fit_leaves_no_cell",
    ),
    "a key of blocks is looked at when rows are read": Mutant(
        "_core/releases/sample_aggregate.py",
        '    key = check_whole(key, "key", least=0)\n',
        "",
        f"{FUZZ}::test_what_was_found_once_is_refused",
    ),
    "cells of a grid wrap around": Mutant(
        "_core/queries/cells.py",
        '        object.__setattr__(self, "per_axis", int(self.per_axis))\n'
        '        object.__setattr__(self, "n_features", int(self.n_features))\n',
        "",
        "tests/unit/core/queries/test_cells.py::test_the_cells_of_a_grid_do_not_wrap",
    ),
    "a cell that becomes a number warns": Mutant(
        "_schema/cells.py",
        "not isinstance(cell, Real | Decimal | np.bool_)",
        "isinstance(cell, date)",
        "tests/unit/schema/test_cells.py::test_no_cell_warns",
    ),
    "an ε that no float holds is an error of its own": Mutant(
        "_base/validation.py",
        "    except OverflowError:  # a whole",
        "    except ZeroDivisionError:  # a whole",
        f"{FUZZ}::test_what_was_found_once_is_refused",
    ),
}
