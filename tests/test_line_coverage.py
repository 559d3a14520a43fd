"""The shares of lines that tests run, from a measurement made by hand and from a real one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.line_coverage import main, shares

MEASURED = {
    "files": {
        "src/mallowmix/model/mallows.py": {"summary": {"num_statements": 40, "covered_lines": 30}},
        "src/mallowmix/model/labels.py": {"summary": {"num_statements": 10, "covered_lines": 10}},
        "src/mallowmix/errors.py": {"summary": {"num_statements": 50, "covered_lines": 49}},
        "src/mallowmix/model/__init__.py": {"summary": {"num_statements": 0, "covered_lines": 0}},
    }
}


def test_shares_are_of_lines_not_of_files():
    found = shares(MEASURED)
    assert (found["lines"], found["run"], found["share"]) == (100, 89, 0.89)
    assert found["folders"] == {".": 0.98, "model": 0.8}
    assert next(iter(found["lowest"].items())) == ("model/mallows.py", 0.75)
    assert "model/__init__.py" not in found["lowest"]


def test_the_file_has_the_shares_and_where_they_come_from(tmp_path, monkeypatch, capsys):
    (tmp_path / "coverage.json").write_text(json.dumps(MEASURED), encoding="utf-8")
    call = ["line_coverage", str(tmp_path / "coverage.json"), "-o", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", call)
    main()
    written = json.loads((tmp_path / "line_coverage.json").read_text(encoding="utf-8"))
    assert written["share"] == 0.89
    assert written["record"]["commit"]
    assert "89 of 100 lines" in capsys.readouterr().out


def test_compiled_kernels_are_left_out(tmp_path):
    pytest.importorskip("coverage")
    code = """
        def compiled(function): return function

        @compiled
        def kernel(x):
            return x + 1

        def other(x):
            return x
    """
    lines = [line[8:] for line in code.splitlines()]
    (tmp_path / "measured.py").write_text("\n".join(lines), encoding="utf-8")
    settings = str(Path(__file__).parents[1] / "pyproject.toml")
    run = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "--source=."]
    subprocess.run([*run, "measured.py"], cwd=tmp_path, check=True)
    shown = [sys.executable, "-m", "coverage", "json", f"--rcfile={settings}", "-o", "c.json"]
    subprocess.run(shown, cwd=tmp_path, check=True)
    found = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["files"]["measured.py"]
    assert found["missing_lines"] == [9]
