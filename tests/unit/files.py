"""Text tables as bytes, made at random: encodings, line ends, quotes, spellings, damage."""

import gzip
from dataclasses import dataclass

SECRET = "Ann Smith"
"""In cells of every file: no message may have it."""

SPELLINGS = (
    "1|-2.5|+1|.5|5.|1e5|1E-3|1e+5|1e400|-0|00012|1_000|0x1F|1d5|inf|-Infinity|nan|NaN|NA|n/a|#N/A|"
    "null|None|nil|NaT|<NA>|-|?|true| 7 |7\t|7\u00a0|\x0b4|１２|٣|−1|1 2|1e|$5|5%|1'000|0.1|1..2|"
    "9007199254740993|123456789012345678901234567890|1.0000000000000002|5e-324|1\0|\0|++1||||é|"
    f"größe|Москва|年齢|{SECRET}|2024-01-31"
).split("|")
INSIDE = ["", '"', "\n", "\r\n", "\r", ",", ";", "\t", "|", '""', SECRET, "\n\n", " ", "1", "é"]
ENCODINGS = [*["utf-8"] * 6, "utf-8-sig", "latin-1", "cp1252", "koi8-r", "utf-16", "utf-16-le"]
ENCODINGS += ["utf-16-be", "utf-32", "shift_jis", "gb18030", "euc_jp", "ascii"]
LONG = "x" * 140_000


@dataclass(frozen=True)
class Made:
    """A file: its name and bytes, its text, and what is declared about it."""

    name: str
    data: bytes
    text: str
    mark: str
    width: int
    header: bool
    encoding: str
    decimal: str
    marks: frozenset[str]
    """What is odd about it: ragged, blank, returns, bytes, quotes, damaged, long."""


def made(rng):
    """One file."""
    mark, width, header = ",;\t|"[rng.integers(4)], int(rng.integers(2, 5)), bool(rng.integers(2))
    encoding = ENCODINGS[rng.integers(len(ENCODINGS))]
    decimal = "," if mark != "," and rng.random() < 0.3 else "."
    marks: set[str] = set()
    ends = [["\n"], ["\n"], ["\r\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]][rng.integers(6)]
    if "\r" in ends:
        marks.add("returns")
    lines = [mark.join(f"c{i}" for i in range(width))] if header else []
    lines += [
        _record(rng, mark, width, encoding, decimal, marks) for _ in range(rng.integers(0, 8))
    ]
    if rng.random() < 0.12:
        place = int(rng.integers(header, len(lines) + 1))
        lines.insert(place, ["", "  ", "\t" if mark != "\t" else " "][rng.integers(3)])
        marks.add("blank")
    if rng.random() < 0.1 and len(lines) > header:
        place = int(rng.integers(header, len(lines)))
        lines[place] = ['5" ' + lines[place], lines[place] + '"', f'"{SECRET}'][rng.integers(3)]
        marks.add("quotes")
    last = rng.random() < 0.7
    tails = [ends[rng.integers(len(ends))] for _ in lines]
    text = "".join(line + tail for line, tail in zip(lines, tails, strict=True))
    text = text if last or not lines else text[: -len(tails[-1])]
    data = text.encode(encoding, "surrogateescape")
    return Made(
        *_named(rng, data, marks), text, mark, width, header, encoding, decimal, frozenset(marks)
    )


def _named(rng, data, marks):
    """The name of a file and its bytes as they are stored."""
    if rng.random() < 0.75:
        return "rows.csv", data
    cut = int(rng.integers(0, len(data) + 1))
    packed = b"".join(gzip.compress(part, mtime=0) for part in (data[:cut], data[cut:]))
    if rng.random() < 0.2:
        marks.add("damaged")
        garbage = packed + SECRET.encode()
        packed = [data or b"?", packed[:-3], garbage][rng.integers(3)]
    return "rows.csv.gz", packed


def _record(rng, mark, width, encoding, decimal, marks):
    cells = [_cell(rng, mark, encoding, decimal, marks) for _ in range(width)]
    if rng.random() < 0.06:
        marks.add("ragged")
        cells = cells[:-1] if width > 2 and rng.random() < 0.5 else [*cells, "9"]
    return mark.join(cells)


def _cell(rng, mark, encoding, decimal, marks):
    chance = rng.random()
    if chance < 0.2:
        inside = "".join(INSIDE[i] for i in rng.integers(0, len(INSIDE), rng.integers(0, 5)))
        return '"' + _known(inside, encoding).replace('"', '""') + '"'
    if chance < 0.2005:
        marks.add("long")
        return LONG
    if chance < 0.21 and encoding in ("utf-8", "ascii"):
        marks.add("bytes")
        return "a\udcff\udc80"
    if chance < 0.5:
        return f"{rng.normal():.{rng.integers(1, 17)}g}".replace(".", decimal)
    cell = _known(SPELLINGS[rng.integers(len(SPELLINGS))], encoding)
    cell = cell.replace(".", decimal) if rng.random() < 0.7 else cell
    return "" if mark in cell else cell


def _known(text, encoding):
    """What an encoding has of a text."""
    return text.encode(encoding.removesuffix("-sig"), "ignore").decode(encoding)
