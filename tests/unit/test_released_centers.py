"""Error bars and evidence of fitted models: coverage under replayed noise, files, refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato import PrivateKMeans, PrivateKMedian
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato._models import MODELS
from sfumato.methods import Centers, DPLloyd, PGkM
from tests.unit.releases import release

PAGE = Path(__file__).parents[2] / "docs" / "error-bars.md"

RNG = np.random.default_rng(0)
MIDDLES = np.array([[2.0, 2.0], [8.0, 2.0], [5.0, 8.0]])
X = MIDDLES[RNG.integers(3, size=1500)] + RNG.normal(0, 0.5, (1500, 2))


def fitted(seed, model):
    curator = RecordingCurator(
        X, bounds=(0, 10), epsilon=1.0, delta=1e-3, noise=ReplayedNoise(seed)
    )
    return model.fit(curator), curator.transcript


def noise_free(transcript, *, clipped):
    """What the last step gives without noise, in the user's units, and the exact sizes."""
    last = np.asarray(transcript.exact[-1], dtype=np.float64)
    if last.shape[1] == 1:
        last = np.hstack([last, transcript.exact[-2]])
        counts = last[:, :1]
    else:
        counts = last[:, :1] / (1 if clipped else REACH)
    start = transcript.queries[-1].cells.centers if clipped else 0
    return 5 + (start + last[:, 1:] / counts) / REACH * 5, counts[:, 0]


def coverage(fits, make, *, clipped, level):
    """The parts of centre numbers and of sizes that lie inside their intervals."""
    inside = []
    for seed in range(fits):
        model, transcript = fitted(seed, make(seed))
        pairs = zip(model.intervals(level), noise_free(transcript, clipped=clipped), strict=True)
        inside.append([((one[..., 0] <= x) & (x <= one[..., 1])).mean() for one, x in pairs])
    return np.mean(inside, axis=0)


@pytest.mark.parametrize(("noise", "level"), [("cube", 0.95), ("gaussian", 0.5)])
def test_intervals_of_a_noisy_step_hold_their_part(noise, level):
    delta, method = 1e-3 if noise == "gaussian" else 0.0, DPLloyd(iterations=2, noise=noise)

    def make(seed):
        return PrivateKMeans(3, epsilon=1.0, delta=delta, method=method, random_state=seed)

    # 900 numbers and 450 sizes, in replayed noise; three deviations.
    found = coverage(150, make, clipped=False, level=level)
    assert found == pytest.approx([level] * 2, abs=3 * math.sqrt(level * (1 - level) / 450))


def test_intervals_of_a_clipped_step_hold_their_part():
    def make(seed):
        return PrivateKMeans(3, epsilon=1.0, random_state=seed)

    found = coverage(60, make, clipped=True, level=0.5)
    assert found == pytest.approx([0.5] * 2, abs=3 * math.sqrt(0.25 / 180))


def test_models_keep_their_error_bars_in_files(tmp_path):
    model, _ = fitted(1, PrivateKMeans(3, epsilon=1.0, random_state=0))
    model.save(tmp_path / "model.json")
    again = sfumato.load(tmp_path / "model.json")
    for ours, theirs in zip(model.intervals(), again.intervals(), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(model.cluster_centers_std_, again.cluster_centers_std_)
    assert np.array_equal(model.evidence_, again.evidence_)
    assert again.receipt_ == model.receipt_
    assert "centre 2: size ± " in str(again.receipt_)


def test_files_without_error_bars_are_read(tmp_path):
    model, _ = fitted(1, PrivateKMeans(3, epsilon=1.0, random_state=0))
    model.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    del data["errors"], data["receipt"]["centers"]
    (tmp_path / "model.json").write_text(json.dumps(data))
    old = sfumato.load(tmp_path / "model.json")
    with pytest.raises(AttributeError, match="saved by an earlier version; method='auto' says"):
        old.intervals()
    with pytest.raises(AttributeError, match="no cluster_centers_std_"):
        _ = old.cluster_centers_std_
    # The cells are enough for evidence.
    assert np.array_equal(old.evidence_, model.evidence_)


def test_chosen_centres_have_no_deviation_but_their_sizes_have():
    model, _ = fitted(1, PrivateKMeans(2, epsilon=1.0, method=PGkM(candidates=20), random_state=0))
    with pytest.raises(AttributeError, match="does not say how noise moves"):
        model.intervals()
    assert model.cluster_sizes_std_.shape == (2,)


def says(model, name):
    """Whether a model has an attribute; of a call, whether it gives numbers."""
    try:
        found = getattr(model, name)
        _ = found() if callable(found) else found
    except AttributeError:
        return "no"
    return "yes"


def test_the_page_says_which_model_has_what():
    chosen, _ = fitted(1, PrivateKMeans(2, epsilon=1.0, method=PGkM(candidates=20), random_state=0))
    models = {
        "`PrivateKMeans`": release("kmeans 2"),
        "`PrivateKMeans`, `pgkm`": chosen,
        "`PrivateKMedian`": release("median"),
        "`PrivateWard`": release("ward"),
        "`PrivateGaussianMixture`": release("mixture"),
        "`PrivateDBSCAN`": release("density"),
    }
    assert {type(each) for each in models.values()} == set(MODELS.values())
    names = ("intervals", "cluster_centers_std_", "cluster_sizes_std_", "evidence_")
    rows = [["model", *(f"`{name}`" for name in names)]]
    rows += [[title, *(says(each, name) for name in names)] for title, each in models.items()]
    head, *lines = [f"| {' | '.join(row)} |" for row in rows]
    table = "\n".join([head, "|---" * 5 + "|", *lines])
    assert f"\n\n{table}\n\n" in PAGE.read_text(encoding="utf-8")


class Silent:
    """A method that returns no error bars, as others may."""

    def caps(self, task):
        return DPLloyd().caps(task)

    def __call__(self, curator, task, *, account, rng):
        found = DPLloyd()(curator, task, account=account, rng=rng)
        return Centers(found.points, found.sizes)


def test_methods_that_do_not_say_are_refused_with_a_way_out():
    model, _ = fitted(1, PrivateKMeans(2, epsilon=1.0, method=Silent()))
    for name in ("cluster_centers_std_", "cluster_sizes_std_", "evidence_"):
        with pytest.raises(AttributeError, match=f"no {name}.*method='auto' says"):
            getattr(model, name)
    assert str(model) == repr(model)
    refit, _ = fitted(1, model.set_params(method="auto"))
    assert refit.cluster_centers_std_.shape == (2, 2)


def test_nothing_is_said_before_a_fit():
    with pytest.raises(AttributeError, match="no attribute 'evidence_'"):
        _ = PrivateKMeans(2).evidence_
    assert str(PrivateKMeans(2)) == repr(PrivateKMeans(2))


def test_clear_clusters_are_real_and_parts_are_not():
    model, _ = fitted(1, PrivateKMeans(3, epsilon=1.0, random_state=0))
    assert (model.evidence_ > 0.95).all()
    assert str(model) == repr(model)
    many, _ = fitted(1, PrivateKMeans(6, epsilon=1.0, random_state=0))
    assert (many.evidence_ < 0.95).sum() >= 4
    assert "Warning: " in str(many)
    again, _ = fitted(2, many.set_params(n_clusters=3))
    assert (again.evidence_ > 0.95).all()


def test_medians_have_error_bars_that_grow_with_their_rate():
    model, _ = fitted(1, PrivateKMedian(3, epsilon=1.0, random_state=0))
    ends, sizes = model.intervals()
    assert ends.shape == (3, 2, 2)
    assert sizes.shape == (3, 2)
    inside = (ends[..., 0] <= model.cluster_centers_) & (model.cluster_centers_ <= ends[..., 1])
    assert inside.all()
    assert (model.evidence_ > 0.95).all()
