"""Build the site into build/site: `make docs`, or `python docs/make_site.py [--no-figures]`.

Figures first, then Sphinx, for which every warning is an error; then the pages are read again:
every link inside the site must lead to a page and a heading, and nothing may be loaded from
elsewhere.
"""

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SITE = ROOT / "build" / "site"
START = "docs/index.html"  # pages are where they are in the repository, so the first one is here
sys.path[:0] = [str(DOCS), str(ROOT)]

from tools.site_links import site_problems  # noqa: E402

_REDIRECT = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>mallowmix</title>
<meta http-equiv="refresh" content="0; url={START}"></head>
<body><a href="{START}">mallowmix</a></body></html>
"""


def build(site: Path = SITE) -> int:
    """Run Sphinx from nothing; its exit code."""
    shutil.rmtree(DOCS / "generated", ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    cache = site.with_name(f"{site.name}-cache")
    options = ["-c", str(DOCS / "site"), "-d", str(cache), "-b", "html", "-E", "-W", "-q"]
    code = build_main([*options, "--keep-going", str(ROOT), str(site)])
    if not code:
        (site / "index.html").write_text(_REDIRECT, encoding="utf-8")
    return code


def main() -> int:
    """Build and check; the exit code says whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-figures", action="store_true", help="keep the figures there are")
    if not parser.parse_args().no_figures:
        from make_figures import main as make_figures

        make_figures()
    if code := build():
        return code
    found = site_problems(SITE)
    print("\n".join(found) if found else f"Built {(SITE / 'index.html').relative_to(ROOT)}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
