"""Secret random bits: AES-256 in counter mode, read in order or at any place."""

from __future__ import annotations

import os
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

BLOCK_BITS = 128
WORD_BITS = 64

_ZEROS = np.zeros(1 << 20, np.uint8)
_ZEROS.setflags(write=False)
_SPARE = 15  # update_into wants room for a block less one byte behind its output


class Stream:
    """Endless uniform numbers U_0, U_1, ... in [0, 1), every bit a function of the key alone.

    The counter of AES is a pair (row, place) of 64-bit numbers. Row 0, read in order, gives the
    words: word i is half of block i // 2 and holds the first 64 bits of U_i. Block (row, i) with
    row >= 1 holds bits 64 + 128 (row - 1) onwards of the same U_i. Reading more bits of one number
    therefore uses up nothing and changes no other number.

    Guarantee: with AES taken as a random permutation, q blocks are within q^2 / 2^129 of uniform
    bits in statistical distance. A stream belongs to one process and one mechanism call: it
    can't be pickled or copied and refuses to be read after a fork, for a repeated bit would be
    repeated noise.
    """

    def __init__(self, key: bytes | None = None) -> None:
        cipher = algorithms.AES256(os.urandom(32) if key is None else key)
        self._in_order = Cipher(cipher, modes.CTR(bytes(16))).encryptor()
        self._anywhere = Cipher(cipher, modes.ECB()).encryptor()
        self._process = os.getpid()
        self.position = 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Stream holds a secret key and can't be pickled or copied")

    def words(self, size: int) -> Words:
        """Return the next `size` words of 64 bits."""
        self._refuse_fork()
        length, done = 8 * size, 0
        out = np.empty(length + _SPARE, np.uint8)
        while done < length:
            step = min(length - done, _ZEROS.size)
            self._in_order.update_into(_ZEROS.data[:step], out.data[done : done + step + _SPARE])
            done += step
        self.position += size
        return out[:length].view("<u8")

    def blocks(self, row: int | Ints, places: Ints) -> Bytes:
        """Return the blocks (row, place), 16 bytes each, without moving on."""
        self._refuse_fork()
        counter = np.empty((len(places), 2), ">u8")
        counter[:, 0], counter[:, 1] = row, places
        data = self._anywhere.update(counter.tobytes())
        return np.frombuffer(data, np.uint8).reshape(-1, 16)

    def words_at(self, places: Ints) -> Words:
        """Return words that may have been read before, by their place."""
        pairs = np.ascontiguousarray(self.blocks(0, places // 2)).view("<u8")
        return pairs[np.arange(len(places)), places % 2]

    def fair_bits(self, size: int) -> NDArray[np.bool_]:
        """Return `size` bits, each 0 or 1 with probability 1/2."""
        words = self.words(-(-size // WORD_BITS))
        return np.unpackbits(words.view(np.uint8), count=size).view(np.bool_)

    def uniforms(self, size: int) -> tuple[int, Floats]:
        """Return the place of the next uniform number and `size` of them in float64.

        The relative error is at most 2^-52; a word below 2^53 takes 64 more bits to keep it so.
        Word 0 alone becomes 0.0, whose absolute error is below 2^-64.
        """
        first = self.position
        words = self.words(size)
        values = words.astype(np.float64)
        short = np.flatnonzero(words < np.uint64(1 << 53))
        if short.size:
            following = np.ascontiguousarray(self.blocks(1, first + short)[:, :8]).view(">u8")[:, 0]
            longer = values[short] + following.astype(np.float64) * 2.0**-64
            values[short] = np.where(values[short] > 0, longer, 0.0)
        values *= 2.0**-64
        return first, values

    def bits(self, places: Ints, rows: int) -> list[int]:
        """Return the first 64 + 128 * rows bits of uniform numbers, as integers."""
        heads = self.words_at(places).tolist()
        tails = np.hstack([self.blocks(row, places) for row in range(1, rows + 1)])
        shift = BLOCK_BITS * rows
        return [
            head << shift | int.from_bytes(tail.tobytes(), "big")
            for head, tail in zip(heads, tails, strict=True)
        ]

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("a Stream can't be read in a forked process: draw from a new one")


def counter_mode_slack(blocks: float) -> float:
    """Distance of that many blocks of one random permutation from uniform bits."""
    return blocks**2 * 2.0**-129
