"""Bugs planted on the way from the bytes of a file to a row and its owner."""

from tests.mutants.mutant import Mutant

LAWS = "tests/laws/test_source.py"
ROW = f"{LAWS}::test_a_record_more_is_one_row_more"
RAW = f"{LAWS}::test_a_record_that_has_no_one_meaning_is_refused_or_one_row"
GROUP = f"{LAWS}::test_a_group_more_is_m_rows_more_however_its_label_is_written"
TYPES = f"{LAWS}::test_a_hundred_people_in_two_files_and_one_without_an_id"
CSV = "tests/unit/engines/formats/test_csv.py"
TEXT = "tests/unit/engines/formats/test_text.py"
DASK = "tests/engines/test_dask.py"

MUTANTS = {
    "a line of a quoted field is a row": Mutant(
        "engines/formats/_records.py",
        "        if quotes % 2 == 0:\n            records.append",
        "        if True:\n            records.append",
        ROW,
    ),
    "a block ends inside of a quoted field": Mutant(
        "engines/formats/_csv.py",
        "while quotes % 2 and (line := file.readline()):",
        "while quotes < 0 and (line := file.readline()):",
        ROW,
    ),
    "a piece of a file begins inside of a quoted field": Mutant(
        "engines/formats/_records.py",
        "self._note(offset, ends[outside])",
        "self._note(offset, ends)",
        "tests/unit/engines/test_files_pieces.py::test_spans_begin_where_records_do_and_hold_every_byt"
        "e",
    ),
    "quotes inside of fields are let through": Mutant(
        "engines/formats/_records.py",
        "        if wrong.any():\n",
        "        if wrong.all() and len(wrong) > 9:\n",
        f"{CSV}::test_quotes_mean_what_the_grammar_says_or_are_refused_by_line[1000]",
    ),
    "a quote that is never closed is let through": Mutant(
        "engines/formats/_records.py",
        "    if scan.inside:\n",
        "    if scan.inside and not scan.opened:\n",
        RAW,
    ),
    "the state of quotes is lost between two windows": Mutant(
        "engines/formats/_records.py",
        "self.inside = bool((len(quotes) + self.inside) % 2)",
        "self.inside = bool(len(quotes) % 2)",
        f"{CSV}::test_quotes_without_one_meaning_are_refused_with_their_line",
    ),
    "a byte-order mark counts where it is not the first": Mutant(
        "engines/formats/_csv.py",
        'yield number, text.replace(BOM, "") if BOM in text else text',
        'yield number, text.replace(BOM, "", 1) if self.span[0] == 0 else text',
        f"{CSV}::test_a_byte_order_mark_is_nothing_wherever_it_is",
    ),
    "wide text is cut on its bytes": Mutant(
        "engines/formats/_text.py",
        "return not self.zipped and self.encoding not in _DECODED",
        "return not self.zipped",
        f"{TEXT}::test_text_is_the_same_in_every_encoding[rows.csv-utf-16]",
    ),
    "wide text that is not valid is let through": Mutant(
        "engines/formats/_records.py",
        "with file.binary(strict=True) as raw:",
        "with file.binary() as raw:",
        f"{TEXT}::test_wide_text_that_is_not_valid_is_refused_by_line[3-\\n-utf-16-le-\\x00\\xd8]",
    ),
    "a header that is not as declared is shown": Mutant(
        "engines/formats/_csv.py",
        '    if "\\0" in head.text or _records.readable(head.text) != head.text:\n',
        '    if "\\0" in head.text:\n',
        f"{TEXT}::test_a_header_that_is_not_as_declared_is_refused_and_not_shown",
    ),
    "a record may be of any length": Mutant(
        "engines/formats/_records.py",
        "        if scan.longest > longest:\n",
        "        if scan.longest > longest**9:\n",
        f"{TEXT}::test_a_record_that_is_too_long_is_refused_with_its_line",
    ),
    "a label with a decimal comma is another person": Mutant(
        "engines/formats/_csv.py",
        "return (self._spelled(cells, False) for cells in self.cells(position))",
        "return self.cells(position)",
        f"{TEXT}::test_labels_with_a_decimal_comma_are_numbers",
    ),
    "labels are compared as text": Mutant(
        "_base/labels.py",
        "    return str(int(value)) if value.is_integer() else repr(value)\n",
        "    return repr(value)\n",
        TYPES,
    ),
    "text that is a number is no number": Mutant(
        "_base/labels.py",
        "        if _NUMBER.fullmatch(text):\n",
        "        if _WHOLE.fullmatch(text):\n",
        GROUP,
    ),
    "every spelling of missing is a person": Mutant(
        "_base/labels.py",
        "    if text.lower() in MISSING:\n",
        "    if not text:\n",
        GROUP,
    ),
    "NaN and null are two groups": Mutant(
        "_base/labels.py",
        "    if not isfinite(value) or abs(value) > _EXACT:\n        return NO_LABEL\n",
        "    if not isfinite(value) or abs(value) > _EXACT:\n        return repr(value)\n",
        "tests/unit/base/test_labels.py::test_labels_that_mean_one_person_have_one_key",
    ),
    "times are compared in their own unit": Mutant(
        "_base/labels.py",
        '    if "." in instant:\n        instant = instant.rstrip("0").rstrip(".")\n',
        "",
        f"{LAWS}::test_times_of_different_units_are_one_label",
    ),
    "large ids are rounded": Mutant(
        "_base/labels.py",
        "        if kind is int:\n            return str(label)\n",
        "        if kind is int:\n            return str(int(float(label)))\n",
        "tests/unit/engines/test_groups.py::test_labels_of_every_kind",
    ),
    "a first row says how many columns there are": Mutant(
        "engines/formats/_csv.py",
        '    if declared.header == "guess" and head is not None:\n',
        "    if head is not None:\n",
        f"{CSV}::test_without_a_header_no_row_says_how_rows_are_read",
    ),
    "a first row says what separates fields": Mutant(
        "engines/formats/_csv.py",
        "mark, width = _separator(file, declared) or _usual(declared)[0], declared.width",
        'mark, width = _split_head(file, head, declared)[0] if head else ",", declared.width',
        f"{CSV}::test_without_a_header_the_name_of_the_file_says_the_separator",
    ),
    "a first row of words names the columns": Mutant(
        "engines/formats/_csv.py",
        "    if declared.header is None and (absent or not declared.names):\n",
        "    if declared.header is None and not _looks_like_names(found):\n",
        f"{CSV}::test_without_a_declared_header_nothing_is_guessed",
    ),
    "Dask compares keys of its own partition only": Mutant(
        "engines/_dask.py",
        'labels = owner.map_partitions(worker.keys_in, meta=(owner.name, "object")).compute()',
        "labels = owner.compute()",
        f"{DASK}::test_partitions_of_unlike_types_hold_one_person",
    ),
    "Spark gathers rows by labels as they are": Mutant(
        "engines/_spark_worker.py",
        "keys = keys_of(values_of(batch.column(width)))",
        "keys = values_of(batch.column(width))",
        "tests/engines/test_spark_tasks.py::test_labels_become_keys_before_rows_are_gathered",
    ),
    "a receipt says nothing of missing cells": Mutant(
        "_private_fit.py",
        ", _nan_note(curator.box.nan)),",
        "),",
        "tests/e2e/test_cli_fit.py::test_missing_cells_follow_the_nan_policy",
    ),
    "a check counts no rows with missing cells": Mutant(
        "cli/_inspect.py",
        "incomplete += int(missing.any(axis=1).sum())",
        "incomplete += 0",
        "tests/e2e/test_cli.py::test_check_counts_exactly_and_names_no_value",
    ),
}
