"""Commands as a user types them."""

from typer.testing import CliRunner

from sfumato.cli import app


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fit(data, *words, k=2, epsilon=5, output="model.json"):
    """A fit that may overwrite its model, and spend a large ε."""
    sure = ("--force", "--yes-epsilon")
    return run("fit", data, "-k", k, "--epsilon", epsilon, "-o", output, *sure, *words)


def header(data):
    """What a file of the fixture is declared to be."""
    if not str(data).endswith((".csv", ".csv.gz", ".tsv")):
        return ()
    return ("--no-header", "--columns", 2) if str(data).startswith("bare") else ("--header",)


BOUNDS = ("--bounds", "0,100", "--bounds", "hours=0,80")


def assert_refused(result, *said, code=2):
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for words in said:
        assert words in result.stderr


def files(here):
    return {path.name: path.read_bytes() for path in here.iterdir()}
