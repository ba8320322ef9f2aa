"""Bugs planted in reports, seals, checks of receipts, and what may be drawn."""

from tests.mutants.mutant import Mutant

REPORT = "tests/unit/report/test_report.py"
PLOTS = "tests/unit/plots/test_plots.py"
CLI = "tests/e2e/test_cli_report.py"

MUTANTS = {
    "rows are drawn": Mutant(
        "plots/_release.py",
        '    if not isinstance(given, Release):\n        raise refused("a fitted model", given)\n',
        "",
        f"{PLOTS}::test_rows_are_refused",
    ),
    "a table of anything is a comparison": Mutant(
        "plots/_choices.py",
        "if not columns or set(map(str, columns)) != set(_COLUMNS):",
        "if not columns:",
        f"{PLOTS}::test_compare_shows_medians_of_scores_alone",
    ),
    "names of columns are markup in figures": Mutant(
        "plots/_figure.py",
        "return html.escape(shortened(text, most), quote=False)",
        "return shortened(text, most)",
        f"{PLOTS}::test_columns_of_a_schema_are_shown_in_its_words_and_not_as_markup",
    ),
    "texts are markup on a page": Mutant(
        "_base/markup.py",
        "Markup(html.escape(str(text), quote=True))",
        "Markup(str(text))",
        f"{REPORT}::test_names_of_the_owner_are_no_markup",
    ),
    "a script of a page can be closed by its data": Mutant(
        "_report/page.py",
        're.sub("[<>&]", lambda',
        're.sub("[&]", lambda',
        f"{REPORT}::test_names_of_the_owner_are_no_markup",
    ),
    "the largest belief is rounded down": Mutant(
        "_report/words.py",
        'quantize(Decimal("0.1"), ROUND_CEILING)',
        'quantize(Decimal("0.1"))',
        f"{REPORT}::test_what_is_called_the_most_is_not_less",
    ),
    "the largest belief forgets δ": Mutant(
        "_report/words.py",
        "belief + float(delta) * shrink / (1 + shrink)",
        "belief",
        f"{REPORT}::test_a_belief_rises_as_bayes_says",
    ),
    "signatures are not compared": Mutant(
        "_report/verify.py",
        "if not holds(seal, content):",
        "if False:",
        f"{REPORT}::test_a_page_that_was_changed_anywhere_is_found",
    ),
    "any key will do": Mutant(
        "_report/verify.py",
        "if key != seal.key:",
        "if False:",
        f"{REPORT}::test_what_was_signed_is_right",
    ),
    "what is not signed passes where a key was given": Mutant(
        "_report/verify.py",
        "None if key is None else False",
        "None",
        f"{CLI}::test_another_key_and_another_model_end_with_4",
    ),
    "digests are not compared": Mutant(
        "_report/verify.py",
        "elif seal.digest == digest_of(content):",
        "elif seal.digest:",
        f"{REPORT}::test_a_change_of_a_file_without_a_signature_is_found",
    ),
    "queries may cost more than their caps": Mutant(
        "_report/arithmetic.py",
        "            if spent[kind][i] > sum(",
        "            if 0 > sum(",
        f"{REPORT}::test_spends_that_do_not_add_up_are_found",
    ),
    "caps need not be the claim": Mutant(
        "_report/arithmetic.py",
        "if sum((c.epsilon for c in caps), Fraction(0)) != epsilon:",
        "if False:",
        f"{REPORT}::test_spends_that_do_not_add_up_are_found",
    ),
    "a guarantee need not be the sum of the receipts": Mutant(
        "_report/verify.py",
        'right = sums == (exact(stated["epsilon"]), exact(stated["delta"]))',
        "right = True",
        f"{REPORT}::test_a_guarantee_that_is_not_the_sum_is_found",
    ),
    "words are not compared": Mutant(
        "_report/verify.py",
        "right = right and promise.quoted() in page",
        "pass",
        f"{REPORT}::test_words_that_say_less_are_found_without_a_signature",
    ),
    "a key twice is read": Mutant(
        "_report/seal.py",
        "if len(found) < len(pairs):",
        "if False:",
        f"{REPORT}::test_a_key_that_is_there_twice_is_no_file_of_ours",
    ),
}
