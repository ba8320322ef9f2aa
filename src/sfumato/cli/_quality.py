"""`sfumato quality`: how good the clusters of a model are for the rows of a file."""

from __future__ import annotations

from sfumato._accounting.budget import Ledger
from sfumato._base.validation import check_delta, check_epsilon
from sfumato._quality.report import sentences_of, table_of
from sfumato.cli import _options as o
from sfumato.cli._app import passes, print_json
from sfumato.cli._inputs import check_large, check_output, ledger_of
from sfumato.cli._model import centers_in, curator_of, write_released
from sfumato.cli._show import console, print_receipt


def run(request: o.Quality) -> None:
    """Measure, print and write it. All that can be refused is refused before the charge."""
    epsilon, delta = check_epsilon(request.epsilon), check_delta(request.delta)
    check_large(request, request.epsilon)
    if request.columns:
        raise ValueError("quality is measured in the columns of the model: leave --columns out")
    if request.output is not None:
        check_output(request.output, request.model, request.data, force=request.force)
    model = centers_in(request.model, "quality is")
    curator = curator_of(
        request, model, model.schema_, ledger_of(request) or Ledger(epsilon, delta)
    )
    with passes(f"measuring {request.model.name} by {request.data.name}"):
        found = model.quality(
            curator,
            epsilon=request.epsilon,
            delta=request.delta,
            level=request.level,
            clip=request.clip,
        )
    if request.output is not None:
        write_released(request.output, found.to_json(), request.epsilon)
    if request.as_json:
        written = {} if request.output is None else {"written_to": str(request.output)}
        print_json({**written, **found.to_dict()})
        return
    out = console()
    out.print(table_of(found))
    for sentence in sentences_of(found):
        out.print(sentence)
    print_receipt(out, found.receipt)
    if request.output is not None:
        out.print(f"Written to {request.output}", soft_wrap=True)
