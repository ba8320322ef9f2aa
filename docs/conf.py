"""How Sphinx builds the site: `make docs`. Sources are the pages of the repository, as they are.

The source folder is the root of the repository, so that every relative link of a page means the
same on the site. `docs/navigation.toml` has the order of the pages.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _site import docstrings, navigation, reference

project = "sfumato"
author = "The sfumato maintainers"
copyright = author
version = release = version_of("sfumato")

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md"]
exclude_patterns = [
    *(".git", ".venv", ".ci", ".github", ".*_cache", ".hypothesis", "build", "dist"),
    *("bench", "src", "tests", "requirements", "docs/_site"),
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Headings get the names that the repository's pages give them, so that links to them work in both.
myst_heading_anchors = 4
myst_enable_extensions = ["strikethrough"]

# Names in single quotes of a docstring are code.
default_role = "code"
autodoc_mock_imports = reference.EXTRAS
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_title = f"sfumato {release}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app: object) -> None:
    """Write the reference before pages are looked for, and add the lists of pages to two kinds."""
    docstrings.setup(app)
    reference.setup(app)
    navigation.setup(app)
