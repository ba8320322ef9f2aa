"""Where the budget went, and what to choose: ε, k, a method. Drawn with Plotly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np

from sfumato._accounting.text import cost_words
from sfumato._planning import Plan, plan
from sfumato._synopsis.curve import Criterion
from sfumato._synopsis.picture import raster, ticks_of, titles_of
from sfumato.plots._figure import COLOURS, DENSITY, figure_of, graph_objects, label_axis, plain
from sfumato.plots._release import receipt_of, refused, synopsis_of

_COLUMNS = ("method", "epsilon", "run", "cost", "ratio", "seconds")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def budget(receipt: Any) -> Any:  # noqa: ANN401
    """Draw where the budget of a receipt went: a bar for each currency, a part for each query.

    `receipt` is a receipt, or a fitted model or an explanation, which has one.
    """
    found = receipt_of(receipt)
    lines = [(line, len(list(run))) for line, run in groupby(found.lines)]
    names = {"pure": "pure ε", "gdp": "Gaussian μ²", "approximate": "(ε, δ)"}
    totals = {kind: float(found.spent(kind)[0]) or 1.0 for kind in names}  # type: ignore[arg-type]
    bars = []
    for i, (line, times) in enumerate(lines):
        share = times * float(Fraction(line.cost)) / totals[line.kind]
        cost = f"{times} × {cost_words(line.kind, line.cost, line.delta)}, {share:.0%}"
        bars.append(
            graph_objects().Bar(
                x=[share],
                y=[names[line.kind]],
                orientation="h",
                name=plain(line.query, 60),
                marker={"color": COLOURS[i % len(COLOURS)], "line": {"color": "white", "width": 1}},
                hovertext=[f"{plain(line.query, 200)}<br>{cost}"],
                hoverinfo="text",
            )
        )
    delta = f", δ = {found.delta:.3g}" if found.delta else ""
    title = f"Where the budget went: ε = {found.epsilon:.6g}{delta}"
    figure = figure_of(bars, title=title, x="part of what was charged")
    figure.update_layout(barmode="stack", height=320 + 22 * len(bars))
    figure.update_layout(legend={"orientation": "h", "y": -0.4, "traceorder": "normal"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    return figure


def tradeoff(
    planned: Any = None,  # noqa: ANN401
    *,
    n: int | None = None,
    d: int | None = None,
    k: int | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    n_rows_known: bool = False,
    epsilons: Sequence[float] | None = None,
) -> Any:  # noqa: ANN401
    """Draw the predicted error of every method against ε, before anything is spent.

    `planned` is what `sfumato.plan` returned; or give n, d and k. Errors are mean squared distances
    of a centre in the cube that the bounds span.
    """
    if planned is None and None not in (n, d, k):
        planned = plan(n=n, d=d, k=k, epsilon=epsilon, delta=delta, n_rows_known=n_rows_known)  # type: ignore[arg-type]
    if not isinstance(planned, Plan):
        raise refused("a plan, or n, d and k,", planned)
    grid = list(epsilons or planned.epsilon * np.geomspace(0.1, 10, 13).round(6))
    errors: dict[str, list[float]] = {}
    for each in grid:
        for row in planned.at(float(each)).rows:
            errors.setdefault(row.method, []).append(row.error if row.predicted else np.nan)
    lines = [
        graph_objects().Scatter(
            x=grid,
            y=found,
            mode="lines+markers",
            name=name,
            line={
                "dash": _DASHES[i // len(COLOURS)],
                "width": 3 if name == planned.default else 1.5,
            },
        )
        for i, (name, found) in enumerate(errors.items())
        if not np.isnan(found).all()
    ]
    title = f"Predicted error: {planned.n:,} rows, {planned.d} columns, {planned.k} centres"
    lines.append(_level(grid, planned.d / 3, "no better than guessing"))
    figure = figure_of(lines, title=title, x="ε", y="mean squared error of a centre")
    figure.update_xaxes(type="log", dtick="D2")
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    figure.add_vline(x=planned.epsilon, line_dash="dash", line_color="#777777")
    return figure


def _level(across: Sequence[float], height: float, name: str) -> Any:  # noqa: ANN401
    """A dotted line from end to end, which the legend names."""
    return graph_objects().Scatter(
        x=[min(across), max(across)],
        y=[height, height],
        mode="lines",
        name=name,
        line={"dash": "dot", "color": "#777777", "width": 1.5},
    )


def choose_k(
    synopsis: Any,  # noqa: ANN401
    k_range: tuple[int, int] = (2, 20),
    by: Criterion = "elbow",
    *,
    random_state: Any = 0,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Draw what a criterion says about every number of clusters: see `Synopsis.k_curve`.

    `synopsis` is a synopsis, or a fitted model that has one. It costs nothing.
    """
    curve = synopsis_of(synopsis).k_curve(k_range, by, random_state=random_state)
    ks = curve.ks.tolist()
    bars = graph_objects().Bar(
        x=ks,
        y=curve.scores,
        marker_color=[COLOURS[1] if k == curve.best else COLOURS[0] for k in ks],
        hovertemplate="k = %{x}: %{y:.3g}<extra></extra>",
    )
    title = f"How many clusters: {curve.criterion} takes {curve.best}"
    figure = figure_of(
        [bars], title=title, x="number of clusters k", y=f"score ({curve.criterion})"
    )
    figure.update_xaxes(dtick=1 if len(ks) <= 30 else None)
    return figure


def synopsis(synopsis: Any) -> Any:  # noqa: ANN401
    """Draw a synopsis: noisy counts of the first two columns, of one column as a line.

    `synopsis` is a synopsis, or a fitted model that has one.
    """
    found = synopsis_of(synopsis)
    picture = raster(found, 128)
    places = np.linspace(-1, 1, 257)[1::2]
    titles = [plain(name) for name in titles_of(found)]
    title = f"{len(found):,} noisy counts, ± {found.noise_std:.3g} rows each"
    if len(picture) == 1:
        line = graph_objects().Scatter(x=places, y=picture[0], mode="lines", line_shape="hvh")
        figure = figure_of([line], title=title, x=titles[0], y="rows per pixel")
    else:
        colours = {"title": {"text": "rows per pixel"}}
        heat = graph_objects().Heatmap(
            z=picture, x=places, y=places, colorscale=DENSITY, colorbar=colours, hoverinfo="z"
        )
        if len(titles) > 2:
            title += f"; the other {len(titles) - 2} columns summed"
        figure = figure_of([heat], title=title, x=titles[0], y=titles[1])
    axes = (figure.update_xaxes, figure.update_yaxes)[: min(len(titles), 2)]
    for i, update in enumerate(axes):
        label_axis(update, ticks_of(found.box, found.schema, i))
    return figure


def compare(frame: Any) -> Any:  # noqa: ANN401
    """Draw a comparison of methods: the median of `ratio` against ε, with the middle half of runs.

    `frame` is tidy: columns method, epsilon, run, cost, ratio and seconds, as a data frame, a dict
    of lists or a list of dicts. Such a table is made of rows by their owner, who decides whether
    to show it; it holds scores, never rows, and other columns are refused.
    """
    table = _tidy(frame)
    methods = list(dict.fromkeys(table["method"]))
    figure = figure_of(
        [], title="Cost over that of k-means without privacy", x="ε", y="ratio of costs"
    )
    for i, name in enumerate(methods):
        mine = [j for j, each in enumerate(table["method"]) if each == name]
        epsilons = sorted({float(table["epsilon"][j]) for j in mine})
        groups = [
            [float(table["ratio"][j]) for j in mine if float(table["epsilon"][j]) == e]
            for e in epsilons
        ]
        low, middle, high = np.array([np.quantile(each, (0.25, 0.5, 0.75)) for each in groups]).T
        figure.add_trace(
            graph_objects().Scatter(
                x=epsilons,
                y=middle,
                mode="lines+markers",
                name=plain(str(name)),
                line={"dash": _DASHES[i // len(COLOURS) % len(_DASHES)]},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": high - middle,
                    "arrayminus": middle - low,
                },
            )
        )
    figure.add_trace(_level(table["epsilon"], 1.0, "k-means without privacy"))
    figure.update_xaxes(type="log", dtick="D2")
    return figure


def _tidy(frame: Any) -> dict[str, list[Any]]:  # noqa: ANN401
    """A table of scores by column; what is no such table is refused."""
    if (
        isinstance(frame, Sequence)
        and not isinstance(frame, str)
        and all(isinstance(line, Mapping) for line in frame)
    ):
        frame = {name: [line.get(name) for line in frame] for name in (frame[0] if frame else ())}
    columns = list(getattr(frame, "columns", frame if isinstance(frame, Mapping) else ()))
    if not columns or set(map(str, columns)) != set(_COLUMNS):
        raise TypeError(
            f"a table of scores with the columns {', '.join(_COLUMNS)} is needed, as "
            f"sfumato.compare returns it, got {type(frame).__name__}: plots are made of releases "
            "and scores, never of rows"
        )
    return {name: list(frame[name]) for name in _COLUMNS}
