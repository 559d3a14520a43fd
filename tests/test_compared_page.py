"""The tables of docs/peers.md, from results in the form of `compare`."""

import re

import mallowmix as mm
from benchmarks.compared_page import NAMES, PAGE, filled, table
from tests.planted import planted


def test_a_line_has_what_the_result_says():
    votes = planted(6, 2, 0.3, 0.2).sample(60, 15, seed=1).comparisons
    found = mm.compare(votes, (1, 2), systems=["borda", "m4-one", "bias", "coin"], n_splits=2)
    rows = found.to_dict()["table"]
    lines = table(rows).splitlines()
    assert len(lines) == 2 + 3  # bias learns from ratings, and has no result
    for row, line in zip(rows, lines[2:], strict=False):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert float(cells[1]) == round(row["log_loss"], 3)
        assert float(cells[2]) == round(row["log_loss_by_person"], 3)
        assert float(cells[5].rstrip("% ")) == round(100 * row["accuracy"], 1)
    (mixed,) = (line for line in lines if line.startswith("| M4, one fit |"))
    assert mixed.split("|")[5].strip() in ("1", "2", "1–2")
    best, coin = lines[2], lines[-1]
    assert "±" not in best
    gap, half = map(float, coin.split("|")[4].split("±"))
    last = rows[2]
    assert gap == round(last["behind_by_person"], 3)
    assert abs(gap + half - last["behind_by_person_high"]) < 0.0011


def test_the_page_has_the_marks_of_both_tables():
    text = PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        assert len(re.findall(f"<!-- {name} -->\n.*?\n<!-- /{name} -->", text, re.S)) == 1
        row = {"system": "mallowmix", "name": "mallowmix", "log_loss": 0.5, "failed": None}
        row |= dict.fromkeys(("log_loss_by_person", "accuracy"), 0.5) | {"n_components": []}
        row |= {f"behind_by_person{end}": 0.0 for end in ("", "_low", "_high")} | {"slope": None}
        written = filled(text, name, [row])
        assert written.count("| **mallowmix** | .500 | .500 |  |  | 50.0 % |  |") == 1
