"""Figures: of every kind of release, in the user's units; rows are refused by their type."""

import numpy as np
import pytest

import sfumato
from sfumato import Curator, plan, plots
from tests.unit.releases import KINDS, NASTY, SECRET, release, rows

WITH_SYNOPSIS = ("grid", "density", "ward")


def shown(figure):
    """Everything that a figure holds, as Plotly draws it."""
    return figure.to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_sizes_and_budget_of_every_release(kind):
    model = release(kind)
    drawn, sizes, budget = plots.clusters(model), plots.sizes(model), plots.budget(model)
    assert f"{len(sizes.data[0].y)} clusters" in drawn.layout.title.text
    assert f"{model.receipt_.epsilon:g}" in drawn.layout.title.text
    shares = {}
    for part in budget.data:
        shares[part.y[0]] = shares.get(part.y[0], 0) + part.x[0]
    assert all(abs(total - 1) < 1e-9 for total in shares.values())
    for figure in (drawn, sizes, budget):
        assert str(SECRET)[:6] not in shown(figure)


def test_a_model_plots_itself():
    model = release("kmeans 2")
    assert shown(model.plot()) == shown(plots.clusters(model))


@pytest.mark.parametrize("kind", WITH_SYNOPSIS)
def test_a_density_lies_under_the_clusters(kind):
    model = release(kind)
    heat = plots.clusters(model).data[0]
    assert heat.type == "heatmap"
    assert np.shape(heat.z) == ((1 if model.n_features_in_ == 1 else 96), 96)
    assert np.min(heat.z) >= 0


def test_pixels_hold_all_that_was_released():
    synopsis = release("grid").synopsis_
    positive = np.maximum(synopsis.weights, 0).sum()
    z = plots.synopsis(synopsis).data[0].z
    # Cells that lie across pixels mix weights of both signs.
    assert z.shape == (128, 128)
    assert synopsis.weights.sum() <= z.sum() <= positive * (1 + 1e-9)


def test_more_columns_have_a_heat_map_in_the_users_units():
    model = release("kmeans 6")
    *_, heat = plots.clusters(model).data
    assert heat.type == "heatmap"
    assert np.allclose(heat.z, model.cluster_centers_ / 100)
    printed = [[float(cell) for cell in line] for line in heat.text]
    assert np.allclose(printed, model.cluster_centers_, atol=0.06)


def test_columns_of_a_schema_are_shown_in_its_words_and_not_as_markup():
    figure = plots.clusters(release("schema"))
    *_, heat = figure.data
    names = figure.layout.xaxis2.ticktext
    assert len(set(names)) == len(names) == np.shape(heat.z)[1]
    assert all(line[-1].startswith("202") for line in heat.text)
    assert "<b>" not in shown(figure)
    assert "<i>" not in shown(figure)
    assert any(NASTY.replace("<", "&lt;")[:9] in name for name in names)


def test_names_that_are_alike_are_columns_of_their_own():
    model = release("kmeans 30")
    model.feature_names_in_ = np.array(
        [f"a long name of a column, number {i}" for i in range(30)], dtype=object
    )
    figure = plots.clusters(model)
    assert len(set(figure.layout.xaxis2.ticktext)) == 30
    del model.feature_names_in_


def test_axes_of_columns_have_the_bounds_and_of_directions_one_scale():
    flat = plots.clusters(release("kmeans 2"))
    assert flat.layout.xaxis.ticktext == ("0.0", "25.0", "50.0", "75.0", "100.0")
    high = plots.clusters(release("kmeans 6")).layout
    spans = [axis.range[1] - axis.range[0] for axis in (high.xaxis, high.yaxis)]
    assert spans[0] == pytest.approx(spans[1])


def test_error_ellipses_are_the_intervals_of_the_centres():
    model = release("kmeans 2")
    (line,) = [t for t in plots.clusters(model).data if t.name and "error" in t.name]
    first = np.column_stack([line.x, line.y])[:49]
    centers, _ = model.intervals(0.95)
    half = (centers[0, :, 1] - centers[0, :, 0]) / 100
    assert np.allclose(np.ptp(first, axis=0) / 2, half * 2.4477 / 1.96, rtol=1e-3)


def test_a_density_cluster_is_outlined_and_a_tree_is_cut():
    regions = [t for t in plots.clusters(release("density")).data if t.type == "contour"]
    assert len(regions) == len(release("density").cluster_sizes_)
    ward = release("ward")
    figure = plots.dendrogram(ward)
    (cut,) = figure.layout.shapes
    heights = ward.linkage_[:, 2]
    assert (heights > cut.y0).sum() == ward.n_clusters_ - 1
    with pytest.raises(TypeError, match="PrivateWard"):
        plots.dendrogram(release("kmeans 2"))


def test_tradeoff_shows_every_method_that_is_predicted_before_anything_is_spent():
    planned = plan(n=10_000, d=3, k=4, epsilon=0.5)
    figure = plots.tradeoff(planned, epsilons=[0.1, 1.0])
    names = [trace.name for trace in figure.data]
    able = [row.method for row in planned.rows if row.predicted]
    assert names == [*able, "no better than guessing"]
    there = {row.method: row.error for row in planned.at(1.0).rows}
    for trace in figure.data[:-1]:
        assert trace.y[1] == there[trace.name]
    assert shown(plots.tradeoff(n=10_000, d=3, k=4, epsilon=0.5, epsilons=[0.1, 1.0])) == shown(
        figure
    )


def test_choose_k_marks_what_the_criterion_takes():
    model = release("grid")
    curve = model.synopsis_.k_curve((2, 6), "elbow", random_state=0)
    (bars,) = plots.choose_k(model, (2, 6)).data
    marked = [k for k, c in zip(bars.x, bars.marker.color, strict=True) if c == "#d55e00"]
    assert marked == [curve.best]


def test_compare_shows_medians_of_scores_alone():
    lines = [
        {"method": m, "epsilon": e, "run": r, "cost": 1.0, "ratio": 1 + r / e, "seconds": 0.1}
        for m in ("auto", "<b>mine</b>")
        for e in (0.1, 1.0)
        for r in range(3)
    ]
    figure = plots.compare(lines)
    assert [t.name for t in figure.data][:1] == ["auto"]
    assert list(figure.data[0].y) == [11, 2]
    assert "<b>" not in shown(figure)
    columns = {name: [line[name] for line in lines] for name in lines[0]}
    assert shown(plots.compare(columns)) == shown(figure)
    with pytest.raises(TypeError, match="never of rows"):
        plots.compare({"age": [1, 2], "sex": ["F", "M"]})


GIVEN = {
    "an array": rows(2),
    "a list": rows(2).tolist(),
    "a curator": Curator(rows(2), bounds=([0, 0], [100, 100]), epsilon=1.0),
    "a path": "people.csv",
    "nothing": None,
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize(
    "draw", ["clusters", "sizes", "budget", "tradeoff", "choose_k", "synopsis", "compare"]
)
def test_rows_are_refused(draw, given):
    with pytest.raises(TypeError, match=r"never of rows") as caught:
        getattr(plots, draw)(given)
    assert str(SECRET)[:6] not in str(caught.value)


def test_what_is_not_fitted_or_has_no_synopsis_is_refused():
    model = sfumato.PrivateKMeans(3, epsilon=1.0, bounds=(0, 1))
    with pytest.raises(TypeError, match="not fitted"):
        plots.clusters(model)
    with pytest.raises(TypeError, match="no synopsis"):
        plots.synopsis(release("kmeans 30"))


def test_a_figure_that_cannot_be_written_says_what_it_needs(tmp_path):
    figure = plots.sizes(release("kmeans 2"))
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.pdf"):
        plots.save(figure, tmp_path / "sizes.gif")
    with pytest.raises(TypeError, match="Plotly"):
        plots.save(rows(2), tmp_path / "sizes.svg")

    class Broken:
        def to_image(self, **_):
            raise ImportError("kaleido")

    with pytest.raises(RuntimeError, match="pip install kaleido"):
        plots.save(Broken(), tmp_path / "sizes.svg")
    assert list(tmp_path.iterdir()) == []


def test_a_figure_is_written_as_its_name_says(tmp_path):
    class Drawn:
        def to_image(self, *, format, scale):
            return f"{format} at {scale}".encode()

    plots.save(Drawn(), tmp_path / "sizes.SVG")
    assert (tmp_path / "sizes.SVG").read_text() == "svg at 2"
