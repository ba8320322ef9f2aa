"""The application: what a page can ask for, and how answers and refusals look."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato import METHODS, Overspent
from sfumato.studio import _plans as plans
from sfumato.studio import _releases as releases
from sfumato.studio._errors import Refusal, unexpected
from sfumato.studio._fits import Fits, budget_of, schema_needed
from sfumato.studio._folder import Folder, columns_of, declare, schema_of
from sfumato.studio._guard import ENTER, Guard, Keys, cookie_name, parsed, same
from sfumato.studio._reports import dossier_of, report_of

STATIC = Path(__file__).parent / "static"

# A report is a page of its own with scripts inside; in a sandbox it is of no origin, and cannot
# talk to the studio.
_REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts"
)

Answer = Callable[["Studio", Request], Any]


class Studio:
    """What the answers share: the folder with its ledgers, running fits, secrets."""

    def __init__(self, folder: Folder, keys: Keys) -> None:
        self.folder, self.keys = folder, keys
        self.fits, self.releases = Fits(folder), releases.Releases(folder)

    def app(self) -> Guard:
        """The application behind its guard."""
        routes: list[BaseRoute] = [Route("/", lambda request: FileResponse(STATIC / "index.html"))]
        routes += [Mount("/static", StaticFiles(directory=STATIC))]
        routes += [Route(p, self._answering(a), methods=["GET"]) for p, a in READING.items()]
        routes += [Route(p, self._changing(a), methods=["POST"]) for p, a in CHANGING.items()]
        return Guard(Starlette(routes=routes), self.keys)

    def _answering(self, answer: Answer) -> Callable[[Request], Response]:
        def endpoint(request: Request) -> Response:
            return self._answered(answer, request)

        return endpoint

    def _changing(self, answer: Answer) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            from starlette.concurrency import run_in_threadpool

            request.state.wanted = parsed(await request.body())
            return await run_in_threadpool(self._answered, answer, request)

        return endpoint

    def _answered(self, answer: Answer, request: Request) -> Response:
        """An answer, or a sentence in its place. Rows and paths are in none of them."""
        try:
            found = answer(self, request)
            return found if isinstance(found, Response) else JSONResponse(found)
        except Refusal as refusal:
            return JSONResponse({"error": refusal.message}, refusal.status)
        except Overspent as error:
            return JSONResponse({"error": self.folder.redact(str(error))}, 409)
        except (ValueError, TypeError, ImportError) as error:
            return JSONResponse({"error": self.folder.redact(str(error))}, 400)
        except Exception as error:
            return JSONResponse({"error": unexpected(error)}, 500)


def _enter(studio: Studio, request: Request) -> Response:
    """Exchange the key of the link for a session and the key of the page."""
    given = request.state.wanted.get("key")
    if not isinstance(given, str) or not same(given, studio.keys.entry):
        raise Refusal("This is not the key of the link that the terminal shows.", 401)
    answer = JSONResponse({"page": studio.keys.page})
    name = cookie_name(int(request.scope["server"][1]))
    answer.set_cookie(name, studio.keys.session, httponly=True, samesite="strict", path="/")
    return answer


def _state(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    """All datasets with their budgets, all releases, fits that run."""
    listed = studio.releases.listed()
    found = []
    for dataset in studio.folder.datasets():
        one = {"id": dataset.number, "name": dataset.name, "registered": dataset.registered}
        one["files"] = [path.name for path in dataset.files]
        one["releases"] = sum(release.dataset == dataset.name for release in listed)
        if dataset.registered:
            one["budget"] = budget_of(studio.folder.open_ledger(dataset))
        found.append(one)
    return {
        "datasets": found,
        "releases": [release.to_dict() for release in listed],
        "running": [job.to_dict() for job in studio.fits.running()],
        "ledger": studio.folder.ledger_name,
        "folder": studio.folder.folder.name,
        "methods": list(METHODS),
    }


def _dataset(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    """One dataset: its columns, what was declared, its budget. Only names come from the file."""
    dataset = studio.folder.dataset(request.path_params["id"])
    ledger = studio.folder.open_ledger(dataset) if dataset.registered else None
    found: dict[str, Any] = {
        "id": dataset.number,
        "name": dataset.name,
        "registered": dataset.registered,
        "budget": budget_of(ledger) if ledger else None,
        "schema": None,
        "columns": [],
        "problem": "",
    }
    try:
        schema = schema_of(dataset, ledger)
        found["columns"] = columns_of(dataset)
    except Refusal as refusal:
        return found | {"problem": refusal.message}
    except ValueError as error:
        return found | {"problem": studio.folder.redact(str(error))}
    if schema is not None:
        found["schema"] = schema.to_dict()
        found["dimensions"] = schema.dimensions
        found["notes"] = list(schema.notes())
    return found


def _declare(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    dataset = studio.folder.dataset(request.path_params["id"])
    declare(studio.folder, dataset, request.state.wanted)
    return {"id": dataset.number}


def _number(request: Request, name: str, least: float, most: float, usual: float) -> float:
    """A number of the address, within limits."""
    text = request.query_params.get(name, str(usual))
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise Refusal(f"{name} must be a number from {least:g} to {most:g}.")
    return value


def _whole(request: Request, name: str, least: int, most: int, usual: int) -> int:
    return int(_number(request, name, least, most, usual))


def _method(request: Request) -> str:
    name = request.query_params.get("method", "auto")
    if name not in list(METHODS):
        raise Refusal("There is no such method.")
    return name


def _sizes(studio: Studio, request: Request) -> dict[str, Any]:
    """The public sizes of a fit that is planned, and how many rows of a person it protects."""
    dataset = studio.folder.dataset(request.path_params["id"])
    schema = schema_needed(studio.folder, dataset)
    rows = studio.folder.open_ledger(dataset).facts.max_rows_per_group
    if schema.dimensions > 1000:
        raise Refusal("Plans are drawn for at most 1000 columns.")
    return {
        "n": _whole(request, "n", 1, 10**9, 10_000),
        "d": schema.dimensions,
        "k": _whole(request, "k", 1, 1000, 5),
        "delta": _number(request, "delta", 0, 0.5, 0),
        "protects": rows or 1,
    }


def _plan(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    """Predicted error of every method against ε, and at one ε. No row is read."""
    sizes = _sizes(studio, request)
    epsilon = _number(request, "epsilon", 1e-6, 100, 1)
    dataset = studio.folder.dataset(request.path_params["id"])
    most = budget_of(studio.folder.open_ledger(dataset))["left"]["epsilon"]
    return plans.curve(**sizes, most=most) | plans.at(**sizes, epsilon=epsilon)


def _simulation(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    """A fit of made-up rows of the same size. No row is read."""
    sizes = _sizes(studio, request)
    if sizes["n"] < sizes["k"]:
        raise Refusal("Made-up rows need at least as many rows as clusters.")
    epsilon = _number(request, "epsilon", 1e-6, 100, 1)
    draw = _whole(request, "draw", 0, 10**6, 0)
    return plans.simulated(**sizes, epsilon=epsilon, method=_method(request), draw=draw)


def _quote(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    dataset = studio.folder.dataset(request.path_params["id"])
    return studio.fits.quote(dataset, request.state.wanted)


def _spend(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    return studio.fits.spend(request.state.wanted.get("request")).to_dict()


def _job(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    return studio.fits.job(request.path_params["id"]).to_dict()


def _view(request: Request) -> tuple[int, int]:
    return _whole(request, "x", -1, 999, -1), _whole(request, "y", -1, 999, -1)


def _release(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    release = studio.releases.find(request.path_params["id"])
    model = studio.releases.model(release)
    return release.to_dict() | releases.shown(model, *_view(request))


def _found(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    """The model of a release that the address names."""
    return studio.releases.model(studio.releases.find(request.path_params["id"]))


def _clusters(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    how, k = request.query_params.get("how", "kmeans"), _whole(request, "k", 1, 64, 5)
    return releases.clustered(_found(studio, request), how, k, *_view(request))


def _curve(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    return releases.k_curve(_found(studio, request))


def _compare(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    names = [request.path_params[name] for name in ("one", "other")]
    found = [studio.releases.find(name) for name in names]
    models = [studio.releases.model(release) for release in found]
    first = releases.shown(models[0])
    x, y = (first["picture"] or {}).get("x", -1), (first["picture"] or {}).get("y", -1)
    sides = [
        release.to_dict() | releases.shown(model, x, y)
        for release, model in zip(found, models, strict=True)
    ]
    return {"sides": sides, **releases.compared(*models)}


def _file(text: str, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)


def _model_file(studio: Studio, request: Request) -> Response:
    release = studio.releases.find(request.path_params["id"])
    return _file(studio.releases.text(release), "model.json", "application/json")


def _rows_file(studio: Studio, request: Request) -> Response:
    n = _whole(request, "n", 1, 100_000, 1000)
    return _file(releases.synthetic(_found(studio, request), n), "synthetic.csv", "text/csv")


def _reported(studio: Studio, request: Request) -> tuple[Any, dict[str, Any]]:
    """The model of a release, and its line in the ledger."""
    release = studio.releases.find(request.path_params["id"])
    line = release.line
    entry = {name: line[name] for name in ("request", "at", "dataset", "digest")}
    return studio.releases.model(release), {"name": release.dataset, **entry}


def _report_page(studio: Studio, request: Request) -> Response:
    page = report_of(*_reported(studio, request))
    return HTMLResponse(page, headers={"content-security-policy": _REPORT_POLICY})


def _report_file(studio: Studio, request: Request) -> Response:
    return _file(report_of(*_reported(studio, request)), "report.html", "text/html")


def _dossier_file(studio: Studio, request: Request) -> Response:
    return _file(dossier_of(*_reported(studio, request)), "dossier.json", "application/json")


def _learn(studio: Studio, request: Request) -> Any:  # noqa: ANN401
    """Private and true centres of public made-up rows."""
    return plans.lesson(
        k=_whole(request, "k", 1, 40, 15),
        epsilon=_number(request, "epsilon", 0.001, 100, 1),
        method=_method(request),
    )


READING: Mapping[str, Answer] = {
    "/api/state": _state,
    "/api/learn": _learn,
    "/api/jobs/{id}": _job,
    "/api/datasets/{id}": _dataset,
    "/api/datasets/{id}/plan": _plan,
    "/api/datasets/{id}/simulation": _simulation,
    "/api/releases/{id}": _release,
    "/api/releases/{id}/clusters": _clusters,
    "/api/releases/{id}/curve": _curve,
    "/api/releases/{id}/report": _report_page,
    "/api/releases/{id}/report.html": _report_file,
    "/api/releases/{id}/model.json": _model_file,
    "/api/releases/{id}/dossier.json": _dossier_file,
    "/api/releases/{id}/synthetic.csv": _rows_file,
    "/api/compare/{one}/{other}": _compare,
}
"""What a page can look at. None of it spends."""

CHANGING: Mapping[str, Answer] = {
    ENTER: _enter,
    "/api/datasets/{id}/declare": _declare,
    "/api/datasets/{id}/quote": _quote,
    "/api/spend": _spend,
}
"""What needs the key of the page."""
