"""See docs/architecture.md."""


def extra(name: str) -> str:
    """How to install an extra: from a clone, as an index may have another package of our name."""
    return (
        f'install the extra "{name}" of this repository, pip install ".[{name}]" in a clone of it'
    )
