"""A draft of an entry for the Differential Privacy Deployments Registry."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from sfumato._accounting.guarantee import ONE_ROW
from sfumato._report.words import Promise

FOLLOWED = (
    "The schema of the registry's data repository (opendp/deployments-registry-data, file "
    "schemas/deployments-schema.yaml, commit 057e5d81cf60150dd3307e0cf4504b957802fb3b), which "
    "grew out of the hierarchical schema of arXiv 2509.13509. The repository goes on: a newer "
    "commit may name fields otherwise, and could not be looked up."
)
OPEN = "OPEN: the owner must answer"

_TYPES = {"density": "Summary statistics"}


def entry(
    model: Any,  # noqa: ANN401
    promise: Promise,
    *,
    title: str | None,
    date: datetime,
) -> dict[str, Any]:
    """An entry as the registry's schema wants it; what only the owner knows is marked open."""
    name = title or f"Private clusters ({model.kind})"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "private-clusters"
    deployment = {
        "basic": _basic(model, name, date),
        "dp_variant": {
            "variant_name": "Approximate DP" if promise.delta else "Pure DP",
            "data_domain": f"Tables with any number of rows of {_columns(model)} declared columns.",
            "unprotected_quantities": "None in the release. Bounds, levels and settings are public "
            "by declaration" + (", also the number of rows." if _knows_n(model) else "."),
        },
        "privacy_loss": _loss(promise, model),
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": "The curator holds the rows and is trusted. Readers of the release "
            f"are not. {OPEN}: who they are.",
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "implementation": _implementation(model),
        "administrative": {"status": "Draft", "registry_authors": [OPEN], "tier": 3},
    }
    return {"followed": FOLLOWED, "entry": {"url_slug": slug, "deployment": deployment}}


def _basic(model: Any, name: str, date: datetime) -> dict[str, Any]:  # noqa: ANN401
    return {
        "name": name,
        "data_curators": [{"data_curator_name": OPEN, "data_curator_type": OPEN}],
        "description": f"Clusters of a table under differential privacy: a model of kind "
        f"{model.kind} by {model.receipt_.method}.",
        "intended_use": OPEN,
        "data_product_type": _TYPES.get(model.kind, "Machine learning model"),
        "data_product_region": OPEN,
        "publication_date": date.date().isoformat(),
    }


def _columns(model: Any) -> int:  # noqa: ANN401
    return int(model.n_features_in_)


def _knows_n(model: Any) -> bool:  # noqa: ANN401
    return getattr(model, "n_rows", None) is not None


def _loss(promise: Promise, model: Any) -> dict[str, Any]:  # noqa: ANN401
    parameters: dict[str, float] = {"epsilon": float(promise.epsilon)}
    if promise.delta:
        parameters["delta"] = float(promise.delta)
    rho = model.receipt_.rho
    row = promise.neighbours == ONE_ROW
    details = (
        f"As zero-concentrated DP the fit is ρ = {rho:.6g}." if rho is not None else "See ε, δ."
    )
    return {
        "privacy_unit": "Row-level" if row else "User-level",
        "privacy_unit_details": "Two tables are adjacent if one is the other with "
        f"{promise.neighbours} added or removed.",
        "privacy_parameters": parameters,
        "privacy_parameters_details": details,
    }


def _implementation(model: Any) -> dict[str, Any]:  # noqa: ANN401
    lines = [f"- {line.query}: {line.mechanism}, {line.noise}" for line in model.receipt_.lines]
    return {
        "preprocessing_and_hyperparameter_tuning": "Rows are clipped to declared bounds and rounded "
        f"to a lattice, each by itself. {OPEN}: steps before the fit, and how ε, k and bounds were "
        "chosen.",
        "mechanisms": "\n".join([*lines, "All noise is integer noise from exact samplers."]),
        "composition": "Adaptive composition under caps that were fixed beforehand; ε and δ of "
        "several fits and explanations add up.",
        "post_processing": "Denoising and clustering of noisy answers; centres in the units of the "
        "columns.",
        "justification": OPEN,
    }
