"""The picture of the README is drawn from a release, and is small."""

import numpy as np

from bench import readme
from sfumato import PrivateKMeans


def test_cells_share_out_the_bounds_and_counts_their_density():
    table = readme.rows(np.random.default_rng(0))
    model = PrivateKMeans(readme.K, epsilon=1.0, bounds=readme.BOUNDS, random_state=0).fit(table)
    corners = readme.corners(model.synopsis_)
    sides = np.ptp(corners, axis=1)
    np.testing.assert_allclose(sides.prod(axis=1).sum(), 100.0**2, rtol=1e-3)
    counts = readme.density(model.synopsis_) * sides.prod(axis=1)
    np.testing.assert_allclose(counts, np.maximum(model.synopsis_.weights, 0), rtol=1e-6)


def test_the_picture_is_small(tmp_path):
    readme.draw(tmp_path / "readme.png")
    assert 10_000 < (tmp_path / "readme.png").stat().st_size < 150_000
