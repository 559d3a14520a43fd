"""What `make dist` looks for in a wheel and a source archive, on archives made by hand."""

import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools.release import (
    LARGEST_FILE,
    NEEDED,
    description_problems,
    package_files,
    sdist_problems,
    wheel_problems,
)

ROOT = Path(__file__).parents[1]
METADATA = (
    "Name: x\nAuthor: us\nLicense-Expression: BSD-3-Clause\nProject-URL: Homepage, https://x.example"
    "\nRequires-Python: >=3.11\n\n# x\n[a](https://x.example/a.html) and [here](#x)\n"
)


@pytest.fixture
def repository(tmp_path):
    package = tmp_path / "src" / "x"
    (package / "static").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    for name in ("__init__.py", "static/page.js", "__pycache__/a.pyc", "kernel.nbi"):
        (package / name).touch()
    return tmp_path


def wheel(folder, names, metadata=METADATA):
    path = folder / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
        archive.writestr("x-1.dist-info/METADATA", metadata)
    return path


def test_a_whole_wheel_has_no_problems(repository):
    names = ("x/__init__.py", "x/static/page.js", "x-1.dist-info/licenses/LICENSE")
    assert list(wheel_problems(wheel(repository, names), repository)) == []


def test_what_a_wheel_lacks_and_what_it_has_too_much_is_named(repository):
    found = list(wheel_problems(wheel(repository, ("x/__init__.py", "tests/a.py")), repository))
    assert found == [
        "x/static/page.js is not in the wheel.",
        "tests/a.py should not be in the wheel.",
        "the licence is not in the wheel.",
    ]


def test_links_into_the_repository_are_found_in_a_description():
    text = METADATA + "![p](docs/p.png) [a](docs/a.md)\n\n[r]: results/r.md\n"
    assert [problem.split()[4].rstrip(",") for problem in description_problems(text)] == [
        "docs/p.png",
        "docs/a.md",
        "results/r.md",
    ]
    assert list(description_problems("Name: x\nAuthor: us\n\n")) == [
        "the wheel names no License-Expression.",
        "the wheel names no Project-URL.",
        "the wheel names no Requires-Python.",
    ]


def test_large_missing_and_stray_files_of_a_source_archive_are_named(tmp_path):
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for name in (*NEEDED[1:], "tests/data/big.bin", "build/site/index.html"):
            (tmp_path / "file").write_bytes(b"0" * (LARGEST_FILE + 1 if "big" in name else 1))
            archive.add(tmp_path / "file", arcname=f"x-1/{name}")
    found = list(sdist_problems(tmp_path / "x.tar.gz"))
    assert found[0] == "LICENSE is not in the sdist."
    assert [problem.split()[0] for problem in found[1:]] == [
        "tests/data/big.bin",
        "build/site/index.html",
    ]


def test_the_package_has_the_files_of_its_pages_and_its_types():
    names = package_files(ROOT)
    for name in (
        "py.typed",
        "__init__.pyi",
        "web/templates/survey.html",
        "report/static/report.css",
    ):
        assert f"mallowmix/{name}" in names


def test_the_project_names_no_organisation_that_does_not_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["authors"] == [{"name": "mallowmix developers"}]
    assert all(url.startswith("https://mallowmix.example") for url in project["urls"].values())
