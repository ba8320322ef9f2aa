"""`sfumato plan`: every method side by side, before there is a file."""

from __future__ import annotations

from sfumato.cli.running import print_json
from sfumato.cli.show import console
from sfumato.parameters import check_whole
from sfumato.planner import plan, sentences_of, table_of


def run(
    *,
    n: int,
    d: int,
    k: int,
    epsilon: float,
    delta: float,
    bounds: list[str] | None,
    n_rows_known: bool,
    as_json: bool,
) -> None:
    """Plan, and print the table or JSON."""
    for name, value in (("--n", n), ("--d", d), ("-k", k)):
        check_whole(value, name)
    planned = plan(
        n=n,
        d=d,
        k=k,
        epsilon=epsilon,
        delta=delta,
        bounds=_bounds(bounds, d),
        n_rows_known=n_rows_known,
    )
    if as_json:
        print_json(planned.to_dict())
        return
    out = console()
    out.print(table_of(planned))
    for sentence in sentences_of(planned):
        out.print(sentence)


def _bounds(texts: list[str] | None, d: int) -> tuple[list[float], list[float]] | None:
    """Read LOW,HIGH once for all columns, or once for each of them in order."""
    if not texts:
        return None
    if len(texts) not in (1, d):
        raise ValueError(
            f"--bounds LOW,HIGH is given once for all columns or {d} times, once for each of them "
            f"in order, got {len(texts)}"
        )
    pairs = [_pair(text) for text in texts] * (d // len(texts))
    return [low for low, _ in pairs], [high for _, high in pairs]


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"--bounds {text}: two numbers LOW,HIGH are needed") from None
    return low, high
