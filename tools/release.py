"""Build wheel and sdist into dist/, look into them, and try the wheel: `make dist`.

The wheel is installed into an empty environment, in a folder without the repository, and makes the
demo and a report there. Nothing is uploaded.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
DIST = HERE / "dist"
LARGEST = {".whl": 3_000_000, ".gz": 8_000_000}  # bytes
LARGEST_FILE = 1_000_000  # bytes of one file in the sdist
NEEDED = (
    *("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "Makefile", "SECURITY.md"),
    *("docs/index.md", "tests/conftest.py", "tools/release.py", "benchmarks/__init__.py"),
)


def package_files(root: Path) -> set[str]:
    """What belongs into the wheel: all files of the package but what Python and Numba keep."""
    files = (root / "src").rglob("*")
    return {
        file.relative_to(root / "src").as_posix()
        for file in files
        if file.is_file()
        and "__pycache__" not in file.parts
        and file.suffix not in (".nbi", ".nbc")
    }


def wheel_problems(wheel: Path, root: Path) -> Iterator[str]:
    """What is missing in a wheel, too much, or wrong in its description."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        texts = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    info = {name for name in names if ".dist-info/" in name}
    wanted = package_files(root)
    yield from (f"{name} is not in the wheel." for name in sorted(wanted - names))
    yield from (f"{name} should not be in the wheel." for name in sorted(names - info - wanted))
    if not any(name.endswith("/licenses/LICENSE") for name in info):
        yield "the licence is not in the wheel."
    yield from description_problems(texts[0]) if texts else ["the wheel has no METADATA."]


def description_problems(metadata: str) -> Iterator[str]:
    """Links of the description that lead nowhere outside the repository; fields that are empty."""
    text = message_from_string(metadata)
    for field in ("Author", "License-Expression", "Project-URL", "Requires-Python"):
        if not text[field]:
            yield f"the wheel names no {field}."
    targets = re.findall(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", text.get_payload(), re.M)
    for target in ("".join(found) for found in targets):
        if not re.match(r"https?://|#", target):
            yield f"the description links to {target}, which is only in the repository."


def sdist_problems(sdist: Path) -> Iterator[str]:
    """What is missing in a source archive, or too large."""
    with tarfile.open(sdist) as archive:
        files = {each.name.partition("/")[2]: each for each in archive.getmembers()}
    yield from (f"{name} is not in the sdist." for name in NEEDED if name not in files)
    for name, file in files.items():
        if file.size > LARGEST_FILE:
            yield f"{name} has {file.size:,} bytes, more than {LARGEST_FILE:,}."
        if file.issym() or "__pycache__" in name or name.startswith(("build/", "dist/", ".venv")):
            yield f"{name} should not be in the sdist."


def size_problems(dist: Path) -> Iterator[str]:
    """Archives that are larger than they were thought to be."""
    for file in dist.iterdir():
        if file.stat().st_size > LARGEST.get(file.suffix, 0):
            yield f"{file.name} has {file.stat().st_size:,} bytes."


def run(*command: str | Path, folder: Path = HERE) -> None:
    """Run a command and show it; a failure ends everything."""
    print(
        "$", *(Path(word).name if isinstance(word, Path) else word for word in command), flush=True
    )
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(word) for word in command], cwd=folder, env=outside, check=True)


def try_wheel(wheel: Path) -> None:
    """Install the wheel into an empty environment and use it there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        commands = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        python, mallowmix = commands / "python", commands / "mallowmix"
        run(python, "-m", "pip", "install", "--quiet", wheel, folder=folder)
        run(python, "-m", "pip", "check", folder=folder)
        run(mallowmix, "--version", folder=folder)
        run(mallowmix, "demo", "--output", "dishes", folder=folder)
        votes = ("dishes/model.m4", "dishes/votes.csv")
        run(mallowmix, "report", *votes, "-o", "report.html", "--quick", folder=folder)
        if "<html" not in (folder / "report.html").read_text(encoding="utf-8")[:500]:
            raise SystemExit("The report of the installed wheel is no page.")


def main() -> int:
    """Build, check and try; the exit code says whether all went well."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, HERE)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    found = [*wheel_problems(wheel, HERE), *sdist_problems(sdist), *size_problems(DIST)]
    if found:
        print("\n".join(found))
        return 1
    try_wheel(wheel)
    sizes = ", ".join(f"{file.name} ({file.stat().st_size:,} bytes)" for file in (wheel, sdist))
    print(f"Built, checked and tried: {sizes}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
