"""Wrong turns of a newcomer on the command line: each ends in one sentence with the way out."""

import pytest

import mallowmix as mm
from command_line import run

VOTES = "user,winner,loser\n" + "u,a,b\nu,b,c\nv,b,a\nv,a,c\nw,c,a\nw,b,c\n" * 4


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "votes.csv").write_text(VOTES)
    mm.save(mm.M4.from_orders(["abc"], 0.3), folder / "abc.m4")
    (folder / "binary.csv").write_bytes(bytes(range(128, 256)))
    (folder / "empty").mkdir()
    return folder


@pytest.fixture(autouse=True)
def inside(work, monkeypatch):
    monkeypatch.chdir(work)


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("report", 2, "'model': type mallowmix report MODEL VOTES. See"),
        ("report votes.csv", 2, "MODEL VOTES. A model is learnt first, with mallowmix fit votes.c"),
        ("report abc.m4", 2, "'VOTES': type mallowmix report MODEL VOTES. See"),
        ("check", 2, "type mallowmix check VOTES."),
        ("convert votes.csv", 2, "type mallowmix convert VOTES OUTPUT. See"),
        ("fit abc.m4", 1, "abc.m4 is a model, not comparisons"),
        ("update abc.m4 abc.m4", 1, "abc.m4 is a model, not comparisons"),
        ("fit votes.csv --seed x", 2, "'x' is not a whole number"),
        ("simulate s.csv --seed 1.5", 2, "'1.5' is not a whole number"),
        ("weights abc.m4 votes.csv --level 7", 2, "--level is 7.0"),
        ("fit votes.csv --memory 1GB --cache empty", 1, "empty holds no stored comparisons"),
        ("fit votes.csv --memory 1GB --cache votes.csv", 1, "name a folder that is not there yet"),
        ("check votes.csv --item-names empty", 1, "empty is a folder: give the name of a file"),
        ("check votes.csv --item-names binary.csv", 1, "not text in UTF-8: save names of items"),
        ("name abc.m4 --item-names nope.csv", 1, "There is no file nope.csv"),
        ("compare-groups abc.m4 votes.csv --attributes nope.csv", 1, "There is no file nope.csv"),
        ("compare-groups abc.m4 votes.csv --attributes binary.csv", 1, "not text in UTF-8: save a"),
        ("serve abc.m4 --check --items empty", 1, "empty is a folder: give the name of a file"),
        ("serve abc.m4 --check --items binary.csv", 1, "not text in UTF-8: save a list of items"),
        ("plot", 2, "type mallowmix plot FIGURE MODEL."),
        ("plot components abc.m4 nope.csv", 2, "of the model alone: leave out nope.csv."),
        ("serve abc.m4 --check --port 99999", 2, "99999 is too large; it must be at most 65535"),
    ],
)
def test_a_wrong_turn_is_one_sentence(typed, code, said):
    _, stderr = run(*typed.split(), code=code)
    assert said in stderr
    assert stderr.count("\n") == 1 and stderr.startswith("Error: ")


def test_an_empty_name_is_no_folder():
    assert "'VOTES': it is empty; give the name of a file" in run("check", "", code=2)[1]


def test_a_model_taken_for_votes_stays_as_it_was(work):
    before = (work / "abc.m4").read_bytes()
    run("fit", "abc.m4", code=1)
    assert (work / "abc.m4").read_bytes() == before


def test_more_folds_than_people():
    votes = mm.load_dishes(n_users=30, per_user=10).comparisons
    with pytest.raises(mm.errors.OptionError, match=r"n_folds is 31; it must be at most .* 30"):
        mm.choose_k(votes, [1], n_folds=31)


def test_every_figure_is_named_in_the_help():
    from mallowmix.cli.plot import OF_A_MODEL, WITH_VOTES

    words = " ".join(run("plot", "--help")[0].replace("│", " ").split())
    for figure in OF_A_MODEL + WITH_VOTES:
        assert f"{figure}" in words
    assert "…" not in words.split("Options")[0].split("Arguments")[1]
