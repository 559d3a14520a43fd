"""MovieLens: tiny files in both forms, and the facts about the real one where it is at hand."""

import os

import numpy as np
import pytest
from scipy.io import savemat

from mallowmix.errors import FileError, Option
from mallowmix.readers.movielens import first_users, movielens_comparisons, read_movielens
from oracles import labelled_rows

TRAIN = [[1, 10, 5], [1, 20, 3], [2, 20, 4], [30, 10, 2]]
PROBE = [[2, 10, 1], [30, 20, 2]]
TITLES = "10::Élan: a Film (1999)::Drama|War\n20::One::Two (2000)::Comedy\n"


@pytest.fixture(autouse=True)
def no_folder_is_set(monkeypatch, request):
    if "real" not in request.node.name:
        monkeypatch.delenv("MALLOWMIX_DATA", raising=False)


def write_mat(folder, train=TRAIN, probe=PROBE, **others):
    savemat(
        folder / "moviedata.mat",
        {"train_vec": np.array(train, np.uint16), "probe_vec": np.array(probe, np.uint16)} | others,
    )


def write_dat(folder, text=None):
    lines = "".join(
        f"{user}::{movie}::{stars}::978300760\n" for user, movie, stars in TRAIN + PROBE
    )
    (folder / "ratings.dat").write_text(lines if text is None else text)


def rows(ratings) -> list[list]:
    return [
        list(row)
        for row in zip(
            ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist(), strict=True
        )
    ]


def test_a_mat_file_has_a_training_and_a_test_part(tmp_path):
    write_mat(tmp_path)
    ratings = read_movielens(tmp_path)
    assert rows(ratings) == TRAIN + PROBE
    assert ratings.train.tolist() == [True] * 4 + [False] * 2
    assert ratings.titles == {}
    assert repr(ratings) == "Ratings(6 ratings of 2 items by 3 users)"


def test_a_dat_file_has_one_part(tmp_path):
    write_dat(tmp_path)
    ratings = read_movielens(tmp_path / "ratings.dat")
    assert rows(ratings) == TRAIN + PROBE
    assert ratings.train.all()


def test_half_stars_and_windows_line_ends(tmp_path):
    write_dat(tmp_path, "1::2::3.5::4\r\n1::3::4::5\r\n")
    assert rows(read_movielens(tmp_path)) == [[1, 2, 3.5], [1, 3, 4.0]]


def test_titles_lie_beside_the_ratings_in_latin_1(tmp_path):
    write_dat(tmp_path)
    (tmp_path / "movies.dat").write_text(TITLES, encoding="latin-1")
    ratings = read_movielens(tmp_path)
    assert ratings.titles == {10: "Élan: a Film (1999)", 20: "One::Two (2000)"}
    named = movielens_comparisons(ratings, 2, titles=True)
    assert labelled_rows(named)[0] == (1, "Élan: a Film (1999)", "One::Two (2000)", 1.0)


def test_the_folder_comes_from_the_argument_or_the_environment_and_may_hold_ml_1m(
    tmp_path, monkeypatch
):
    (tmp_path / "ml-1m").mkdir()
    write_mat(tmp_path / "ml-1m")
    assert len(read_movielens(tmp_path)) == 6
    monkeypatch.setenv("MALLOWMIX_DATA", str(tmp_path))
    assert len(read_movielens()) == 6
    write_mat(tmp_path, train=TRAIN[:1])
    assert len(read_movielens()) == 3, "the folder itself goes before ml-1m"
    write_dat(tmp_path, "1::2::3::4\n")
    assert len(read_movielens()) == 3, "the file with the split goes before the one without"


def test_comparisons_and_the_first_users(tmp_path):
    write_mat(tmp_path)
    comparisons = movielens_comparisons(read_movielens(tmp_path), 2)
    # user 30 rates both alike
    assert labelled_rows(comparisons) == [(1, 10, 20, 1.0), (2, 20, 10, 1.0)]
    first, rest = first_users(comparisons, 2)
    assert (first.users.tolist(), rest.users.tolist()) == ([1, 2], [30])
    assert (first.n_comparisons, rest.n_comparisons) == (2, 0)


def test_without_a_folder_the_message_says_how_to_get_one():
    with pytest.raises(
        FileError, match=r"No folder .* get MovieLens 1M from grouplens\.org"
    ) as caught:
        read_movielens()
    assert Option("data") in caught.value.parts and "MALLOWMIX_DATA" in str(caught.value)


def test_a_folder_that_is_not_there_or_is_empty(tmp_path):
    with pytest.raises(FileError, match=r"nowhere is not there\. .*grouplens\.org"):
        read_movielens(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"has neither moviedata\.mat nor ratings\.dat in it\. "):
        read_movielens(tmp_path)
    (tmp_path / "ratings.txt").write_text("1::2::3::4\n")
    with pytest.raises(FileError, match=r"the ending '\.txt' is neither \.mat nor \.dat"):
        read_movielens(tmp_path / "ratings.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"ratings\.dat is empty: each line must read user::movie::stars::time"),
        (
            "1::2::3::4\n1::2::3\n",
            r"ratings\.dat line 2: '1::2::3' does not read user::movie::stars::time",
        ),
        ("1::2::3::4\n1:x:2::3::4\n", r"line 2: '1:x:2::3::4' does not read"),
        ("1::2::good::4\n", r"line 1: '1::2::good::4' does not read"),
        ("1::2::3::4\n\n1::::3::4\n", r"line 3: '1::::3::4' does not read"),
        ("user,item\n", r"line 1: 'user,item' does not read"),
    ],
)
def test_a_bad_dat_file_is_named_by_its_line(tmp_path, text, message):
    write_dat(tmp_path, text)
    with pytest.raises(FileError, match=message):
        read_movielens(tmp_path)


def test_bad_titles_are_named_by_their_line(tmp_path):
    write_dat(tmp_path)
    (tmp_path / "movies.dat").write_text("10::A::B\nten::A::B\n")
    with pytest.raises(
        FileError, match=r"movies\.dat line 2: 'ten::A::B' does not read number::title::genres"
    ):
        read_movielens(tmp_path)


def test_bad_mat_files(tmp_path):
    file = tmp_path / "moviedata.mat"
    file.write_bytes(b"no matlab at all, whatever its name says" * 10)
    with pytest.raises(FileError, match=r"moviedata\.mat is not a whole MATLAB file"):
        read_movielens(file)
    file.write_bytes(b"")
    with pytest.raises(FileError, match="is not a whole MATLAB file"):
        read_movielens(file)
    savemat(file, {"train_vec": np.ones((2, 3))})
    with pytest.raises(
        FileError, match="has no variable probe_vec: it needs train_vec and probe_vec"
    ):
        read_movielens(file)
    savemat(file, {"train_vec": np.ones((2, 3)), "probe_vec": np.ones((2, 2))})
    with pytest.raises(
        FileError, match=r"probe_vec has the shape \(2, 2\); it must have three columns of numbers"
    ):
        read_movielens(file)
    savemat(file, {"train_vec": np.ones((2, 3)), "probe_vec": np.array([[1, 2.5, 3]])})
    with pytest.raises(FileError, match="rating 3 lacks a number; user and movie must be whole"):
        read_movielens(file)


def test_a_mat_file_that_is_cut_short(tmp_path):
    write_mat(tmp_path, train=TRAIN * 500)
    file = tmp_path / "moviedata.mat"
    whole = file.read_bytes()
    for length in (100, 130, 200, len(whole) // 2, len(whole) - 20):
        file.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"moviedata\.mat"):
            read_movielens(file)


@pytest.mark.skipif(
    not os.environ.get("MALLOWMIX_DATA"), reason="MALLOWMIX_DATA names no folder with MovieLens 1M"
)
def test_real_counts():
    """Printed nowhere, counted by another program: the comparisons of users 1 to 4000 and of the
    rest.
    """
    ratings = read_movielens()
    assert len(ratings) == 1_000_209
    assert set(np.unique(ratings.rating).tolist()) == {1, 2, 3, 4, 5}
    for n_items, first, rest in ((100, 1_815_503, 900_867), (200, 5_394_905, 2_646_696)):
        parts = first_users(movielens_comparisons(ratings, n_items))
        assert [part.n_comparisons for part in parts] == [first, rest]
