"""Ratings as spreadsheets have them: a row a person, a column a thing."""

import pytest

import mallowmix as mm
from command_line import run
from mallowmix.errors import DataError

WIDE = "Name,Rioja,Merlot,Port\nann,5,3,\nbob,4.5,,2\ncy,1,3,4\n"
LONG = [
    *(("ann", "Rioja", 5), ("ann", "Merlot", 3), ("bob", "Rioja", 4.5), ("bob", "Port", 2)),
    *(("cy", "Rioja", 1), ("cy", "Merlot", 3), ("cy", "Port", 4)),
]


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "wines.csv"
    path.write_text(WIDE)
    return path


def test_a_matrix_is_read_as_its_long_table(wide):
    user, item, rating = zip(*LONG, strict=True)
    expected = mm.comparisons_from_ratings(user, item, rating)
    found = mm.read(wide, format="ratings", columns={"user": "Name"})
    assert found.comparisons == expected and found.form == "ratings"
    assert sorted(map(tuple, zip(*found.ratings.to_pydict().values(), strict=True))) == sorted(LONG)


def test_without_a_column_of_people_each_row_is_one(tmp_path):
    path = tmp_path / "wines.csv"
    path.write_text("Rioja,Merlot,Port\n5,3,\n4.5,,2\n1,3,4\n")
    found = mm.read(path, format="ratings")
    assert found.comparisons.users.tolist() == [1, 2, 3]
    assert "every row was taken for another person" in str(found.notes[0])
    assert found.comparisons.n_comparisons == 1 + 1 + 3


def test_numbers_are_not_guessed_to_be_ratings_or_positions(wide):
    """Of positions 1 is best, of ratings the most: a wrong guess would turn the result round."""
    with pytest.raises(DataError) as raised:
        mm.read(wide)
    said = str(raised.value)
    assert 'format="ratings"' in said and 'format="rankings"' in said
    assert 'columns={"user": "Name"}' in said
    up = mm.read_comparisons(wide, format="ratings", columns={"user": "Name"})
    down = mm.read_comparisons(wide, format="rankings", columns={"user": "Name"})
    assert _rows(up) == {(user, loser, winner) for user, winner, loser in _rows(down)}


def _rows(votes):
    columns = votes.to_frame("pyarrow").to_pydict()
    return set(zip(*(columns[name] for name in ("user", "winner", "loser")), strict=True))


def test_the_command_reads_it(wide):
    said, _ = run("check", wide, "--format", "ratings", "--columns", "user=Name", "--json")
    assert '"n_users": 3' in said and '"form": "ratings"' in said


def test_a_word_among_ratings_is_named(wide):
    wide.write_text(WIDE.replace("4.5", "good"))
    with pytest.raises(DataError):
        mm.read(wide, format="ratings", columns={"user": "Name"})


def test_a_long_table_that_lacks_a_column_is_not_taken_for_a_matrix(tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text("user,item,mark,year\n1,7,5,2001\n1,8,3,2002\n")
    with pytest.raises(DataError, match="no column 'rating'"):
        mm.read(path, format="ratings")


@pytest.mark.parametrize("text", ["Spring\n\nName,Wine,Score\nann,Port,5\n", "1,5,3\n2,4,4\n"])
def test_titles_and_data_in_the_place_of_names(tmp_path, text):
    path = tmp_path / "wines.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"pass header=False; if names stand in a later row"):
        mm.read(path)


def test_a_gap_in_ratings_comes_with_the_option_that_drops_it(tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text("user,item,rating\nann,tea,5\nann,milk,\nann,water,2\n")
    with pytest.raises(DataError, match=r'line 3: the rating is missing .*missing="drop"'):
        mm.read(path)
    assert mm.read_comparisons(path, missing="drop").n_comparisons == 1
