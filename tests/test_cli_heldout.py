"""`mallowmix heldout`: the numbers of the library, as JSON and in words, and mistakes as one
sentence.
"""

import json
import math
import re

import pyarrow.parquet as pq
import pytest

import mallowmix as mm
from command_line import run
from planted import planted

TWO = mm.M4.from_orders([list("abcd"), list("dcba")], phi=[0.3, 0.5], alpha=[0.4, 0.9])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model file and votes of 25 people."""
    folder = tmp_path_factory.mktemp("heldout")
    mm.save(TWO, folder / "model.m4")
    table = TWO.sample(25, 8, seed=1).comparisons.to_arrow().to_pydict()
    rows = zip(*(table[name] for name in ("user", "winner", "loser", "weight")), strict=True)
    lines = ["user,winner,loser,weight", *(",".join(map(str, row)) for row in rows)]
    (folder / "votes.csv").write_text("\n".join(lines) + "\n")
    return folder / "model.m4", folder / "votes.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "method", "options"),
    [
        ((), mm.LeftToRightOptions(), {}),
        (
            ("--form", "product-of-means", "--n-particles", 64),
            mm.LeftToRightOptions(form="product-of-means", n_particles=64),
            {},
        ),
        (
            ("--method", "importance", "--seed", 3, "--include-mu"),
            mm.ImportanceOptions(),
            {"seed": 3, "include_mu": True},
        ),
        (
            ("--method", "completion", "--given", 0.3, "--split", "items"),
            mm.CompletionOptions(given=0.3, split="items"),
            {},
        ),
    ],
)
def test_json_holds_what_the_library_says(files, words, method, options):
    out, _ = run("heldout", *files, *words, "--json")
    values = json.loads(out)
    found = mm.heldout(TWO, mm.read_comparisons(files[1]), method, **options)
    assert values.pop("method") == method.method
    assert values == {
        "log_likelihood_per_comparison": found.log_likelihood_per_comparison,
        "standard_error": found.standard_error,
        "n_comparisons": found.n_comparisons,
        "n_users": found.n_users,
        "details": found.details,
        "scored_on": found.scored_on.to_dict(),
    }


@pytest.mark.slow
def test_words_say_where_the_model_has_seen_these_people(files, tmp_path):
    model, (_, votes) = tmp_path / "seen.m4", files
    run("fit", votes, "-k", 2, "--refine", "none", "-o", model)
    assert "that the model was learnt from" in run("heldout", model, votes)[0]
    assert "that the model was learnt from" not in run("heldout", *files)[0]


def test_words_put_the_coin_beside_it(files):
    out, _ = run("heldout", *files)
    found = mm.heldout(TWO, mm.read_comparisons(files[1]))
    assert f"{found.log_likelihood_per_comparison:.4f} ± {found.standard_error:.4f}" in out
    assert "a coin" in out and "-0.6931" in out
    assert "200 comparisons of 25 people" in out and "The method's own noise" in out
    assert "a coin" not in run("heldout", *files, "--include-mu")[0], (
        "the coin says nothing of which pairs are compared"
    )


def test_too_few_particles_are_a_note(files):
    _, notes = run("heldout", *files, "--n-particles", 1, "--max-particles", 2)
    assert "Note: With 2 particles two runs differ by" in notes and "raise --max-particles" in notes


def test_annealing_is_said(tmp_path):
    """Ten rankings and a thousand comparisons: draws of weights are too few for somebody."""
    model = planted(30, 10, phi=0.3, alpha=0.1)
    mm.save(model, tmp_path / "m.m4")
    pq.write_table(model.sample(3, 1000, seed=0).comparisons.to_arrow(), tmp_path / "v.parquet")
    out, _ = run(
        "heldout",
        tmp_path / "m.m4",
        tmp_path / "v.parquet",
        "--method",
        "importance",
        "--n-particles",
        8,
    )
    assert re.search(
        r"Draws were too few for \d (person|people), whose likelihood was annealed instead", out
    )


def test_one_person_has_no_standard_error(files, tmp_path):
    (tmp_path / "one.csv").write_text("user,winner,loser\nu,a,b\nu,b,c\n")
    values = json.loads(run("heldout", files[0], tmp_path / "one.csv", "--json")[0])
    assert values["standard_error"] is None and values["n_users"] == 1
    words = run("heldout", files[0], tmp_path / "one.csv")[0]
    assert "nan" not in words and "2 comparisons of 1 person" in words


def test_unknown_items(files, tmp_path):
    (tmp_path / "more.csv").write_text("user,winner,loser\nu,a,b\nu,b,z\n")
    _, error = run("heldout", files[0], tmp_path / "more.csv", code=1)
    assert "1 of the 3 items is unknown: 'z'" in error and "--unknown-items drop" in error
    out, _ = run("heldout", files[0], tmp_path / "more.csv", "--unknown-items", "drop", "--json")
    assert math.isclose(json.loads(out)["n_comparisons"], 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--method", "chib"),
            "--method is 'chib'; it must be one of 'left-to-right', 'importance', 'completion'",
        ),
        (("--form", "mean"), "--form is 'mean'; it must be one of"),
        (("--n-particles", "0"), "0 is too small; it must be at least 1"),
        (
            ("--given", "0.5"),
            "--given is no option of --method left-to-right; it goes with 'completion'.",
        ),
        (
            ("--method", "completion", "--given", "1"),
            "--given is 1.0; it must be at least 0 and below 1",
        ),
        (
            ("--method", "completion", "--include-mu"),
            "--include-mu is no option of --method completion",
        ),
        (
            ("--n-particles", "64", "--max-particles", "8"),
            "--max-particles is 8; it must be at least 64.",
        ),
    ],
)
def test_mistakes_are_one_sentence(files, words, message):
    _, error = run("heldout", *files, *words, code=2)
    assert message in error and "Traceback" not in error


def test_quiet_prints_nothing(files):
    assert run("heldout", *files, "--quiet") == ("", "")
