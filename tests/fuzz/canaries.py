"""Values planted in rows, and the search for them in all that leaves.

Cells are random numbers in [0, 1) with 17 digits, groups long whole numbers, categories and text
random words. They are looked for as bytes, of float64 and of rows of float32, in both orders, and
as text: words in UTF-8 and UTF-16, numbers by their first digits.

A noisy number has the first 12 digits of a cell with probability 10^-12: with 400 cells and at
most 10^5 numbers in a run, 4·10^-5 that a run finds one by chance. Messages and texts without
noise are searched for 8 digits, and hold none by chance. Eight bytes agree with probability
1000·2^-64 each.
"""

import re
import struct

import numpy as np
import pandas as pd

N_CELLS, N_IDS, N_WORDS, N_TIMES = 400, 300, 200, 100
WINDOW = 8

_NUMBER = re.compile(rb"\d[\d.]*\d")


class Canaries:
    """A thousand values, and tables of them."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.cells = rng.uniform(0.1, 1, size=(N_CELLS // 2, 2))
        self.ids = rng.integers(10**16, 10**17, size=N_IDS)
        self.words = [f"q{rng.bytes(8).hex()}" for _ in range(N_WORDS)]
        seconds = rng.integers(0, 10**9, size=N_TIMES) + rng.integers(1, 10**6, N_TIMES) * 1e-6
        self.times = pd.to_datetime(seconds, unit="s").astype(str).tolist()
        self._digits = {_leading(repr(cell)) for cell in self.cells.ravel().tolist()}
        self._whole = {str(one).encode()[:12] for one in self.ids.tolist()}
        self._windows = {window for value in self._bytes() for window in (value[:WINDOW],)}

    def _bytes(self):
        for cell in self.cells.ravel().tolist():
            yield from (struct.pack("<d", cell), struct.pack(">d", cell))
        lines = [*self.cells, *np.lib.stride_tricks.sliding_window_view(self.cells[:, 0], 2)]
        for pair in lines:
            yield from (pair.astype("<f4").tobytes(), pair.astype(">f4").tobytes())
        for one in self.ids.tolist():
            yield from (struct.pack("<q", one), struct.pack(">q", one))
        for text in (*self.words, *(time[11:] for time in self.times)):
            yield from (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"))

    def frame(self):
        """A data frame with a cell of every kind in each row."""
        n = len(self.cells)
        return pd.DataFrame(
            {
                "a": self.cells[:, 0],
                "b": self.cells[:, 1],
                "kind": (self.words * 2)[:n],
                "seen": (self.times * 2)[:n],
                "who": np.resize(self.ids, n),
            }
        )

    def found_in(self, data, digits=12):
        """The values that are in some bytes, or in a text."""
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
        windows = {raw[i : i + WINDOW] for i in range(len(raw) - WINDOW + 1)}
        found = [window for window in self._windows if window in windows]
        cut = {value[:digits] for value in self._digits}
        numbers = {match.replace(b".", b"").lstrip(b"0") for match in _NUMBER.findall(raw)}
        found += [number for number in numbers if number[:digits] in cut]
        return found + [number for number in numbers if number[:12] in self._whole]


def _leading(text):
    return text.replace(".", "").lstrip("0").encode()
