"""How Sphinx makes the reference from the docstrings: see python/docs/build.sh."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "Filtra"
status = (ROOT / "include/filtra/status.h").read_text(encoding="utf-8")
release = ".".join(
    re.search(rf"VERSION_{part} (\d+)", status)[1] for part in ("MAJOR", "MINOR", "PATCH")
)
extensions = ["sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["build"]
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["aeon"]  # the time-series classifier derives from its class
default_role = "code"
html_theme = "alabaster"
html_title = f"Filtra {release} for Python"
html_theme_options = {"description": "Transformers with better graph filters than attention"}


def skip_inherited(app, what, name, member, skip, options):
    """Leave out what classes have from scikit-learn, which documents it."""
    return skip or not getattr(member, "__module__", "filtra").startswith("filtra")


def setup(app):
    """Connect the above."""
    app.connect("autodoc-skip-member", skip_inherited)
