"""Settings of Sphinx for the site: `make docs`.

The source folder is the repository itself, so that a link in a page works on the site as it does in
the repository. Nothing on the site is loaded from elsewhere.
"""

import sys
from pathlib import Path

import mallowmix

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

project = "mallowmix"
author = "mallowmix developers"
copyright = author
release = version = mallowmix.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "mathml",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/generated/*.rst",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/results/*.md",
]
exclude_patterns = [".venv", "build", "dist", "src", "tests", "tools", "examples", "**/.*"]
templates_path = [str(HERE / "templates")]  # Sphinx looks beside this file, autosummary in ROOT
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_default_options = {"members": True}
autodoc_typehints = "none"
default_role = "py:obj"  # `fit` in a docstring is a link
smartquotes = False
numpydoc_show_class_members = False
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "mallowmix"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"docs/index": []}
html_theme_options = {
    "logo": {"text": "mallowmix"},
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_persistent": [],
    "navbar_end": ["search-button-field", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "docs/index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
