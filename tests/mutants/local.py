"""Bugs planted in the local model: nD-Laplace, its lattice and its randomizer."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_local.py"
STATS = "tests/stats/test_local.py"
UNIT = "tests/unit/local/test_ndlaplace.py"
RANDOMIZER = "tests/unit/core/local/test_randomizer.py"
CLI = "tests/e2e/test_cli_perturb.py"

DRAWN = "reports = rows + noise.ball(self.scale, *rows.shape)"

MUTANTS = {
    "a quarter of the circle": Mutant(
        "_core/local/lattice.py",
        DRAWN,
        "reports = rows + np.abs(noise.ball(self.scale, *rows.shape))",
        f"{STATS}::test_directions_are_uniform_on_the_whole_circle",
    ),
    "radius with one exponential too many": Mutant(
        "_core/sampling/joint.py",
        "return self.dim + self.counts + 1",
        "return self.dim + self.counts + 2",
        f"{STATS}::test_radii_are_gamma",
    ),
    "every coordinate for itself": Mutant(
        "_core/local/lattice.py",
        DRAWN,
        "reports = rows + noise.laplace(self.scale, rows.size).reshape(rows.shape)",
        f"{STATS}::test_radii_are_gamma",
    ),
    "resampling with all of epsilon": Mutant(
        "_core/local/lattice.py",
        "ROUNDING * (2 if self.resample else 1) / (self.epsilon * self.lattice.step)",
        "ROUNDING / (self.epsilon * self.lattice.step)",
        f"{LAWS}::test_resampled_reports_keep_the_promise_with_half_of_epsilon",
    ),
    "a scale that forgets the step": Mutant(
        "_core/local/lattice.py",
        "ROUNDING * (2 if self.resample else 1) / (self.epsilon * self.lattice.step)",
        "ROUNDING * (2 if self.resample else 1) / self.epsilon",
        f"{LAWS}::test_clamped_reports_keep_the_promise",
    ),
    "every column by its own width in the units of the data": Mutant(
        "_core/local/lattice.py",
        'own if self.units == "box" else np.full_like(own, own.max())',
        "own",
        f"{LAWS}::test_snapped_rows_are_as_far_apart_as_the_rows_and_a_step_per_column",
    ),
    "snapping that nobody is told of": Mutant(
        "_core/local/lattice.py",
        "return math.sqrt(self.n_features) * float(self.step)",
        "return 0.0 * float(self.step)",
        f"{LAWS}::test_snapped_rows_are_as_far_apart_as_the_rows_and_a_step_per_column",
    ),
    "rows of a block share their noise": Mutant(
        "_core/local/lattice.py",
        DRAWN,
        "reports = rows + noise.ball(self.scale, 1, rows.shape[1])",
        f"{STATS}::test_rows_have_noise_of_their_own",
    ),
    "reports outside are clamped after one draw": Mutant(
        "_core/local/lattice.py",
        "while len(left) and tries < self._tries:",
        "while len(left) and tries < 1:",
        f"{STATS}::test_truncated_reports_follow_their_enumerated_law",
    ),
    "the last draw inside counts, not the first": Mutant(
        "_core/local/lattice.py",
        "            reports[left] = proposals[np.arange(len(left)), first]\n",
        "            reports[left] = proposals[np.arange(len(left)), -1]\n",
        f"{STATS}::test_truncated_reports_follow_their_enumerated_law",
    ),
    "resampling without an end": Mutant(
        "_core/local/lattice.py",
        "/ math.log1p(-self.accepted))",
        "/ math.log1p(-self.accepted / 64))",
        f"{RANDOMIZER}::test_resampling_ends",
    ),
    "subclasses of mechanisms are let in": Mutant(
        "_core/local/randomizer.py",
        "if type(mechanism) not in LATTICE_MECHANISMS:",
        "if not isinstance(mechanism, LATTICE_MECHANISMS):",
        f"{RANDOMIZER}::test_mechanisms_from_outside_are_refused",
    ),
    "a metric guarantee passes for a budget": Mutant(
        "_accounting/guarantee.py",
        'if len(kinds) > 1 and kinds & {"metric", "local"}:',
        'if len(kinds) > 1 and kinds & {"local"}:',
        f"{UNIT}::test_metric_guarantees_never_become_budget",
    ),
    "rows whose text is refused are echoed": Mutant(
        "local/_transformer.py",
        "    source = frame_of(X)\n",
        "    source = frame_of(np.asarray(X, dtype=float))\n",
        f"{UNIT}::test_bad_rows_are_refused_without_an_echo",
    ),
    "a file may be written over": Mutant(
        "cli/_rewrite.py",
        "check_output(request.output, request.data, *filter(None, [request.bounds_file]))",
        "check_output(request.output)",
        f"{CLI}::test_never_writes_over_its_input",
    ),
    "all columns are carried through": Mutant(
        "cli/_rewrite.py",
        "order = sorted((*layout.positions, *layout.kept))",
        "order = [*range(len(layout.table.names))]",
        f"{CLI}::test_other_columns_are_carried_only_when_told",
    ),
    "missing cells of a kept row are filled": Mutant(
        "cli/_rewrite.py",
        "missing=_missing(request)",
        'missing="center"',
        f"{CLI}::test_missing_cells",
    ),
    "a table is read as a whole": Mutant(
        "cli/_rewrite.py",
        'in _blocks(layout, to_parquet=name.endswith(".parquet")):',
        'in list(_blocks(layout, to_parquet=name.endswith(".parquet"))):',
        f"{CLI}::test_holds_one_block_at_a_time",
    ),
}
