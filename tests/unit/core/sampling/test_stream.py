"""The bits are what the specification says, wherever and however they are read."""

import copy
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato._core.sampling.source import SecureNoise
from sfumato._core.sampling.stream import Stream
from sfumato._core.testing import ReplayedNoise
from tests.no_noise import NoNoise

KEY = bytes(range(32))

FORKS = """
import os, sys
from sfumato._core.sampling.source import SecureNoise
noise = SecureNoise()
noise.stream().words(2)
for _ in range(50):
    read, write = os.pipe()
    if os.fork() == 0:
        blocks = noise.stream().words(4000)
        os.write(write, blocks.tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        sys.stdout.buffer.write(pipe.read())
    os.wait()
"""

FORKED_STREAM = """
import os
from sfumato._core.sampling.stream import Stream
stream = Stream()
if os.fork() == 0:
    for read in (lambda: stream.words(1), lambda: stream.uniforms(1), lambda: stream.fair_bits(1)):
        try:
            read()
        except RuntimeError:
            continue
        os._exit(1)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
stream.words(1)
"""


def block(row, place):
    """One block by the book, with a cipher of its own."""
    counter = row.to_bytes(8, "big") + place.to_bytes(8, "big")
    return Cipher(algorithms.AES(KEY), modes.CTR(counter)).encryptor().update(bytes(16))


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout


def test_words_follow_the_specification():
    want = [int.from_bytes(block(0, i // 2)[8 * (i % 2) :][:8], "little") for i in range(9)]
    assert Stream(KEY).words(9).tolist() == want
    assert Stream(KEY).words_at(np.array([8, 0, 3])).tolist() == [want[8], want[0], want[3]]


def test_bits_follow_the_specification():
    stream = Stream(KEY)
    heads = stream.words(6).tolist()
    for rows in (1, 2, 6, 14):
        got = stream.bits(np.array([5, 0]), rows)
        for place, bits in zip((5, 0), got, strict=True):
            tail = b"".join(block(row, place) for row in range(1, rows + 1))
            assert bits == heads[place] << 128 * rows | int.from_bytes(tail, "big")


@pytest.mark.parametrize("sizes", [(1, 2, 3, 5), (0, 1, 0, 10), (131_072, 131_073, 7)])
def test_reading_in_pieces_is_reading_at_once(sizes):
    whole, pieces = Stream(KEY), Stream(KEY)
    assert np.array_equal(
        whole.words(sum(sizes)), np.concatenate([pieces.words(size) for size in sizes])
    )
    assert whole.position == pieces.position == sum(sizes)


def test_random_access_uses_up_nothing():
    plain, nosy = Stream(KEY), Stream(KEY)
    plain.words(3), nosy.words(3)
    nosy.bits(np.array([0, 1, 2, 7]), 14)
    assert np.array_equal(plain.words(50), nosy.words(50))


def test_float_uniforms_are_within_their_stated_error():
    stream = Stream(KEY)
    first, values = stream.uniforms(20_000)
    exact = stream.bits(first + np.arange(values.size), 2)
    assert np.count_nonzero(stream.words_at(np.arange(values.size)) < 2**53) > 0
    for value, raw in zip(values.tolist(), exact, strict=True):
        true = Fraction(2 * raw + 1, 2**321)
        assert abs(Fraction(value) - true) <= true / 2**52


def test_coins_are_bits_of_the_words():
    coins = Stream(KEY).fair_bits(130)
    assert coins.dtype == np.bool_
    assert np.array_equal(coins, np.unpackbits(Stream(KEY).words(3).view(np.uint8))[:130])


def test_a_stream_without_a_key_is_new_every_time():
    assert Stream().words(2).tolist() != Stream().words(2).tolist()


@pytest.mark.parametrize("key", [b"", bytes(16), bytes(33)])
def test_only_keys_of_256_bits(key):
    with pytest.raises(ValueError, match="key"):
        Stream(key)


@pytest.mark.parametrize("twin", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_stream_refuses_to_be_pickled_or_copied(twin):
    with pytest.raises(TypeError, match="secret key"):
        twin(Stream())


def test_secure_noise_carries_no_key_into_a_pickle():
    noise = SecureNoise()
    assert not vars(noise)
    twin = pickle.loads(pickle.dumps(noise))
    assert twin.stream().words(2).tolist() != noise.stream().words(2).tolist()


def test_no_block_is_drawn_twice_by_fifty_forked_children():
    data = run(FORKS)
    blocks = [data[at : at + 16] for at in range(0, len(data), 16)]
    assert len(blocks) == 50 * 2000
    assert len(set(blocks)) == len(blocks)


def test_a_stream_refuses_to_be_read_after_a_fork():
    run(FORKED_STREAM)


def test_which_noise_can_be_replayed():
    assert SecureNoise().replayable is False
    assert ReplayedNoise(0).replayable is True
    assert NoNoise().replayable is True


def test_replayed_noise_repeats_and_each_call_differs():
    one, two = ReplayedNoise(7), ReplayedNoise((7).to_bytes(32, "big"))
    calls = [one.laplace(Fraction(1000), 20).tolist() for _ in range(3)]
    assert calls == [two.laplace(Fraction(1000), 20).tolist() for _ in range(3)]
    assert calls[0] != calls[1] != calls[2]
    assert calls[0] != ReplayedNoise(8).laplace(Fraction(1000), 20).tolist()


def test_no_noise_is_zero_of_the_same_shape_and_type():
    for noise in (NoNoise(), SecureNoise()):
        line, rows = noise.laplace(Fraction(3), 5), noise.cube(Fraction(3), 4, 2)
        assert (line.shape, rows.shape) == ((5,), (4, 2))
        assert line.dtype == rows.dtype == noise.gaussian(Fraction(3), 5).dtype == np.int64
    assert not NoNoise().laplace(Fraction(3), 5).any()
    assert not NoNoise().gaussian(Fraction(3), 5).any()
    assert not NoNoise().cube(Fraction(3), 4, 2).any()
    assert NoNoise().stream() is None
