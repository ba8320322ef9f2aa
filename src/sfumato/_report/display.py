"""What every fitted model shows of itself: pictures, a report, and a piece of a notebook."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sfumato.plots._release import Release

if TYPE_CHECKING:
    from sfumato._explaining import Explanation


class Displayed(Release):
    """A model that can be looked at. All of it is made of what was released, and costs nothing."""

    def to_dict(self) -> dict[str, Any]:
        """What a file of the model holds, as plain values."""
        raise TypeError(f"{type(self).__name__} holds nothing")

    def plot(self) -> Any:  # noqa: ANN401
        """Draw the clusters: a Plotly figure. See `sfumato.plots.clusters`."""
        from sfumato.plots import clusters

        return clusters(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        explanation: Explanation | None = None,
        title: str | None = None,
        command: str | None = None,
        bounds_from: str | None = None,
    ) -> None:
        """Write a report: one page that needs no network, to look at, to print and to sign.

        Parameters
        ----------
        path : str or path
            Where to write: a name that ends in .html.
        explanation : Explanation, optional
            What `explain` returned for this model. Its ε is added to that of the model.
        title : str, optional
            The title of the page.
        command : str, optional
            How the model was made, for readers who want to make it again.
        bounds_from : str, optional
            Where the bounds come from, in a sentence, where no schema says it of a column.

        """
        from sfumato._base.files import write_whole
        from sfumato._report.page import page
        from sfumato.plots._release import model_of

        model_of(self)
        text = page(
            self,
            explanation=explanation,
            title=title,
            command=command,
            bounds_from=bounds_from,
        )
        write_whole(path, text)

    def _html(self) -> str:
        from sfumato._report.page import summary

        return summary(self)

    @property
    def _repr_html_(self) -> Any:  # noqa: ANN401
        # scikit-learn's diagram of parameters, until there is something to show.
        inherited = super()._repr_html_  # type: ignore[misc]
        return self._html if hasattr(self, "receipt_") else inherited

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:  # noqa: ANN401
        found = super()._repr_mimebundle_()  # type: ignore[misc]
        if hasattr(self, "receipt_") and "text/html" in found:
            found["text/html"] = self._html()
        return found
