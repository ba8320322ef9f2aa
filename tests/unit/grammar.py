"""Text tables read one character at a time, and made at random."""

import numpy as np


class Wrong(Exception):  # noqa: N818
    """The line of a quote that has no one meaning."""


def parsed(text, mark=","):  # noqa: C901  (a machine with four states)
    """The records of a text that are not blank: their line and their fields."""
    found, fields, cell, state, blank = [], [], [], "start", True
    line = first = opened = 1
    for i, c in enumerate(text):
        ends = c == "\n" or (c == "\r" and text[i + 1 : i + 2] != "\n")
        if state == "quoted":
            if c == '"':
                state = "closed"
            else:
                cell.append(c)
        elif c == '"':
            if state == "plain":
                raise Wrong(line)
            if state == "closed":
                cell.append(c)
            else:
                opened = line
            state, blank = "quoted", False
        elif c == mark:
            fields.append("".join(cell))
            cell, state, blank = [], "start", False
        elif c in "\r\n":
            if ends:
                found += [] if blank else [(first, [*fields, "".join(cell)])]
                fields, cell, state, first, blank = [], [], "start", line + 1, True
        elif state == "closed":
            raise Wrong(line)
        else:
            cell.append(c)
            state, blank = "plain", blank and c in " \t"
        line += ends
    if state == "quoted":
        raise Wrong(opened)
    return found if blank else [*found, (first, [*fields, "".join(cell)])]


ODD = ["a", '"', ",", "\n", "\r\n", "\r", " ", "1", "é", "\t", '""', '",', '"\n', ',"', "\n\n"]


def soup(rng, most=14):
    """Text in which almost nothing is as it should be."""
    return "".join(ODD[i] for i in rng.integers(0, len(ODD), rng.integers(0, most)))


CELLS = ["", "1", "-2.5", "1e3", "x", "NA", " 7 ", "é", "a b", "\u2028", "0"]
INSIDE = ["", '"', "\n", "\r\n", "\r", ",", ";", "\t", '""', "note", "\n\n", " ", "é", '",1,2\n3']
ENDS = ["\n", "\r\n", "\r"]


def field(rng):
    """One cell as it is written: plain, or in quotes with anything inside."""
    if rng.random() < 0.6:
        return CELLS[rng.integers(len(CELLS))]
    inside = "".join(INSIDE[i] for i in rng.integers(0, len(INSIDE), rng.integers(0, 5)))
    return '"' + inside.replace('"', '""') + '"'


def table_text(rng, *, mark=None, end="\n"):
    """A text table as a careful writer would write it: a header, then records of one width."""
    width = int(rng.integers(1, 5))
    mark = mark or ",;\t|"[rng.integers(4)]
    lines = [mark.join(f"c{i}" for i in range(width))]
    for _ in range(rng.integers(0, 9)):
        lines.append(mark.join(field(rng) for _ in range(width)))
        lines += ["  " if rng.random() < 0.3 else ""] * int(rng.random() < 0.15)
    return end.join(lines) + end * int(rng.random() < 0.7), mark, width


def generator(seed):
    """Public randomness for made-up files."""
    return np.random.default_rng(seed)
