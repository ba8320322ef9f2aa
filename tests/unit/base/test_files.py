"""Files that are read or written whole."""

from pathlib import Path

import pytest

import sfumato
from sfumato._base.files import read_whole


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="no such device here")
def test_a_device_without_an_end_is_not_read():
    with pytest.raises(ValueError, match="not a regular file"):
        read_whole("/dev/zero")
    with pytest.raises(ValueError, match="not a sfumato model"):
        sfumato.load("/dev/zero")
