"""Input made to break a reader, a model or a command: each is refused in a sentence, within bounds
of memory, and nothing is written where nothing should be.
"""

import gzip
import io
import json
import resource
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save as save_tensors

import mallowmix as mm
from command_line import run
from mallowmix.assess.user_attributes import read_attributes
from mallowmix.data.labels import as_labels
from mallowmix.errors import DataError, FileError, ModelFileError, OptionError
from mallowmix.model.model_file import dumps, loads
from mallowmix.readers import read
from mallowmix.readers.excel_files import open_excel
from mallowmix.readers.mat_files import read_mat
from mallowmix.web.item_names import read_items
from mallowmix.web.vote_store import Archive, Store
from mallowmix.writers.files import write_table
from test_storage import HEADER, TENSORS, by_hand, said

LIMIT = "MALLOWMIX_MAX_UNPACKED"
ROW = b"ann,tea,milk\n"
ROWS = b"user,winner,loser\n" + ROW * 100_000  # 1.3 MB


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ---- files that unpack to more than memory holds ----


def packed(name, data):
    if name.endswith(".gz"):
        Path(name).write_bytes(gzip.compress(data))
    else:
        with pa.output_stream(name, compression="zstd") as stream:
            stream.write(data)
    return Path(name)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("v.csv", ROWS),
        ("v.csv", b"user,winner,loser\n" + b"0" * 1_300_000),  # one line
        ("v.jsonl", b'{"user": "a", "winner": "x", "loser": "y"}\n' * 40_000),
        ("v.jsonl", b'{"user": "' + b"a" * 1_300_000),
        ("v.soc", b"# NUMBER ALTERNATIVES: 2\n" * 60_000),
    ],
)
def test_a_compressed_file_stops_at_a_limit_that_can_be_raised(name, data, ending, monkeypatch):
    path = packed(name + ending, data)
    monkeypatch.setenv(LIMIT, "1MB")
    with pytest.raises(FileError) as caught:
        read(path)
    assert "unpacks to more than 1,000,000" in str(caught.value) and LIMIT in str(caught.value)
    if data is ROWS:
        monkeypatch.setenv(LIMIT, "1.4 MB")
        assert read(path).comparisons.n_comparisons == 100_000


def test_a_compressed_file_that_is_stored_stops_at_the_same_limit(monkeypatch):
    """Many files, one of them too large; nothing is left of the folder."""
    packed("v-1.csv.gz", ROWS[: 18 + 1000 * len(ROW)])
    packed("v-2.csv.gz", ROWS)
    monkeypatch.setenv(LIMIT, "1.2 MB")
    with pytest.raises(FileError) as caught:
        mm.store_comparisons("v-*.csv.gz", "v.blocks")
    assert str(caught.value).startswith("v-2.csv.gz has ") and LIMIT in str(caught.value)
    assert sorted(path.name for path in Path().iterdir()) == ["v-1.csv.gz", "v-2.csv.gz"]
    monkeypatch.setenv(LIMIT, "1.4 MB")
    stored = mm.store_comparisons("v-2.csv.gz", "v.blocks")
    assert stored.n_comparisons == 100_000
    monkeypatch.setenv(LIMIT, "1.2 MB")  # what is stored already is not unpacked again
    assert mm.store_comparisons("v-2.csv.gz", "v.blocks").n_comparisons == 100_000


def test_a_bomb_that_is_stored_is_streamed(monkeypatch):
    """Unpacked in pieces: Python allocates far less than the 64 MB that come out."""
    packed("v.csv.gz", b"user,winner,loser\n" + ROW * 5_000_000)
    monkeypatch.setenv(LIMIT, "60MB")
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match="unpacks to more than 60,000,000"):
            mm.store_comparisons("v.csv.gz", "v.blocks")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_limit_goes_with_the_size_of_the_file_and_must_be_a_size(monkeypatch):
    path = packed("v.csv.gz", ROWS)
    monkeypatch.delenv(LIMIT, raising=False)
    assert len(ROWS) > 100 * path.stat().st_size  # and still below 256 MB
    assert read(path).comparisons.n_users == 1
    monkeypatch.setenv(LIMIT, "plenty")
    with pytest.raises(OptionError) as caught:
        read(path)
    assert (caught.value.option, caught.value.value) == (LIMIT, "plenty")


@pytest.mark.slow
def test_a_bomb_does_not_reach_the_memory():
    """2 GB of one line in 200 kB; the process may have 1.5 GB."""
    with pa.output_stream("v.csv.zst", compression="zstd") as stream:
        stream.write(b"user,winner,loser\n")
        for _ in range(200):
            stream.write(b"0" * 10_000_000)
    assert Path("v.csv.zst").stat().st_size < 300_000
    code = (
        "import mallowmix as mm\n"
        "try: mm.read_comparisons('v.csv.zst')\n"
        "except mm.errors.FileError as error: print(error)\n"
        # not getrusage, which on Linux knows the largest size of the parent process too
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(next(int(line.split()[1]) // 1000 for line in lines if 'VmHWM' in line))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence, megabytes = done.stdout.splitlines()
    assert "unpacks to more than 256,000,000" in sentence
    assert int(megabytes) < 1500


def test_a_variable_of_matlab_and_rows_of_parquet_stop_at_the_limit(monkeypatch):
    monkeypatch.setenv(LIMIT, "1MB")
    body = zlib.compress(bytes(2_000_000))
    header = b"MATLAB".ljust(124) + b"\0\1IM"
    Path("v.mat").write_bytes(header + struct.pack("<II", 15, len(body)) + body)
    with pytest.raises(FileError, match="unpacks to more than 1,000,000"):
        read_mat(Path("v.mat"), {"x"})
    rows = {name: pa.array(["a"]).take(pa.array(np.zeros(200_000, int))) for name in "uwl"}
    table = pa.table(rows).rename_columns(["user", "winner", "loser"])
    pq.write_table(table, "v.parquet")
    assert Path("v.parquet").stat().st_size < 10_000
    with pytest.raises(FileError, match="unpacks to more than 1,000,000"):
        read("v.parquet")


LONG_LABEL = "x" * 100_000
BOMBS = {
    "a label of which there is one": {},
    "labels that grow from row to row": {
        "use_dictionary": False,
        "column_encoding": {"user": "DELTA_BYTE_ARRAY", "winner": "PLAIN", "loser": "PLAIN"},
    },
    "labels that zstd packs": {"use_dictionary": False, "compression": "zstd"},
}


def parquet_bomb(name, options, n_rows=300):
    table = {"user": [LONG_LABEL] * n_rows, "winner": ["a"] * n_rows, "loser": ["b"] * n_rows}
    pq.write_table(pa.table(table), name, **options)
    assert Path(name).stat().st_size < 20_000
    return Path(name)


@pytest.mark.parametrize("kind", BOMBS)
def test_labels_of_parquet_stop_at_the_limit(kind, monkeypatch):
    """30 MB of labels; Arrow holds no more than the limit of them at any time."""
    path = parquet_bomb("v.parquet", BOMBS[kind])
    monkeypatch.setenv(LIMIT, "2MB")
    before = pa.total_allocated_bytes()
    peak = pa.default_memory_pool().max_memory()
    with pytest.raises(FileError, match="unpacks to more than 2,000,000"):
        read(path)
    with pytest.raises(FileError, match="unpacks to more than 2,000,000"):
        read_attributes(path, as_labels([LONG_LABEL]))
    assert max(pa.default_memory_pool().max_memory() - max(peak, before), 0) < 10_000_000
    monkeypatch.setenv(LIMIT, "31MB")
    assert read(path).comparisons.n_comparisons == 300
    monkeypatch.setenv(LIMIT, "plenty")
    with pytest.raises(OptionError):
        read(path)


def test_lists_of_parquet_stop_at_the_limit(monkeypatch):
    ranking = pa.array([[LONG_LABEL, "b"]] * 300)
    pq.write_table(pa.table({"user": ["u"] * 300, "ranking": ranking}), "v.parquet")
    monkeypatch.setenv(LIMIT, "2MB")
    with pytest.raises(FileError, match="unpacks to more than 2,000,000"):
        read("v.parquet")
    monkeypatch.setenv(LIMIT, "31MB")
    assert read("v.parquet").comparisons.n_items == 2


def test_parquet_that_is_stored_stops_at_the_limit(monkeypatch):
    path = parquet_bomb("v.parquet", BOMBS["labels that zstd packs"])
    monkeypatch.setenv(LIMIT, "2MB")
    with pytest.raises(FileError, match=r"v.parquet has .* unpacks to more than 2,000,000"):
        mm.store_comparisons(path, "v.blocks")
    assert sorted(each.name for each in Path().iterdir()) == ["v.parquet"]


def test_users_of_stored_comparisons_stop_at_the_limit_and_are_all_there(monkeypatch):
    Path("v.csv").write_bytes(ROWS[: 18 + len(ROW)])
    stored = mm.store_comparisons("v.csv", "v.blocks")
    users = stored.folder / "users.parquet"
    good = users.read_bytes()
    pq.write_table(pa.table({"user": [LONG_LABEL] * 300}), users)
    monkeypatch.setenv(LIMIT, "2MB")
    for use in (lambda store: store.users, lambda store: store.fingerprint()):
        with pytest.raises(FileError, match="unpacks to more than 2,000,000"):
            use(mm.store_comparisons("v.csv", "v.blocks"))
    pq.write_table(pa.table({"user": ["ann", "bob"]}), users)
    for use in (lambda store: store.users, lambda store: store.fingerprint()):
        with pytest.raises(FileError, match="labels of 2 users and comparisons of 1"):
            use(mm.store_comparisons("v.csv", "v.blocks"))
    users.unlink()
    with pytest.raises(FileError, match="labels of 0 users"):
        _ = mm.store_comparisons("v.csv", "v.blocks").users
    users.write_bytes(good)
    assert mm.store_comparisons("v.csv", "v.blocks").users.tolist() == ["ann"]


# ---- workbooks: zips of XML, whose cells share texts and may stand anywhere ----

SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/strings.xml"
TYPES = "[Content_Types].xml"
STRINGS_TYPE = f"""<Override PartName="/{STRINGS}" ContentType=
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>"""
XML = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(rows, dimension="A1:C9", label="ann"):
    """A workbook with these rows, in XML, and one shared text, to which `<v>0</v>` refers."""
    names = row_of(*map(text_cell, ("user", "winner", "loser")))
    sheet = f'<dimension ref="{dimension}"/><sheetData>{names}{rows}</sheetData>'
    made = {SHEET: f'<worksheet xmlns="{XML}">{sheet}</worksheet>'}
    good = io.BytesIO()
    openpyxl.Workbook().save(good)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile("v.xlsx", "w", zipfile.ZIP_DEFLATED) as new:
        types = old.read(TYPES).decode()
        made[TYPES] = types.replace("</Types>", f"{STRINGS_TYPE}</Types>")
        for name in old.namelist():
            new.writestr(name, made.get(name) or old.read(name))
        new.writestr(STRINGS, f'<sst xmlns="{XML}"><si><t>{label}</t></si></sst>')
    return Path("v.xlsx")


def row_of(*cells):
    return f"<row>{''.join(cells)}</row>"


def text_cell(text):
    return f'<c t="inlineStr"><is><t>{text}</t></is></c>'


SHARED = '<c t="s"><v>0</v></c>'
TEA_MILK = text_cell("tea") + text_cell("milk")
WORKBOOKS = {
    "long labels": lambda: workbook(row_of(text_cell("x" * 30_000), TEA_MILK) * 100),
    "a long label that rows share": lambda: workbook(
        row_of(SHARED, TEA_MILK) * 100, label="x" * 30_000
    ),
    "cells far to the right": lambda: workbook(
        "".join(row_of(SHARED, TEA_MILK, f'<c r="XFD{n}"><v>1</v></c>') for n in range(2, 90))
    ),
    "empty cells far to the right": lambda: workbook(
        "".join(row_of(SHARED, TEA_MILK, f'<c r="XFD{n}"/>') for n in range(2, 200))
    ),
    "cells of nothing": lambda: workbook(
        row_of(SHARED, TEA_MILK) * 100 + f"<row>{'<c/>' * 40_000}</row>"
    ),
    "a row very far down": lambda: workbook('<row r="99999999999"><c><v>1</v></c></row>'),
}


@pytest.mark.parametrize("kind", WORKBOOKS)
def test_a_workbook_stops_at_the_limit(kind, monkeypatch):
    """Of 10 kB that would be 3 MB of text or 10 MB of cells, no more is held than the limit."""
    path = WORKBOOKS[kind]()
    assert path.stat().st_size < 30_000
    monkeypatch.setenv(LIMIT, "1MB")
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value) == (
        f"v.xlsx has {path.stat().st_size:,} bytes and unpacks to more than 1,000,000: if that is "
        f"right, allow more with {LIMIT}=8GB (or more) in the environment."
    )
    monkeypatch.setenv(LIMIT, "20MB")
    if "down" not in kind:
        assert read(path).comparisons.n_comparisons >= 88
    monkeypatch.setenv(LIMIT, "plenty")
    with pytest.raises(OptionError):
        read(path)


@pytest.mark.parametrize("dimension", ["A1:XFD1048576", "A1", "B2:C2"])
def test_a_workbook_is_as_large_as_its_cells_whatever_it_claims(dimension, monkeypatch):
    """A claim of 16,384 columns would fill 200 MB, and one of a single cell would lose rows."""
    path = workbook(row_of(SHARED, TEA_MILK) * 1500, dimension)
    monkeypatch.setenv(LIMIT, "2MB")
    tracemalloc.start()
    try:
        assert read(path).comparisons.n_comparisons == 1500
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_one_wide_row_of_a_workbook_widens_no_other():
    path = workbook(row_of(SHARED, TEA_MILK) * 1500 + '<row><c r="XFD1502"><v>1</v></c></row>')
    tracemalloc.start()
    try:
        assert len(open_excel(path).names) == 16_384
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("checksum_lies", [False, True])
def test_a_workbook_whose_zip_lies_about_a_size_is_cut_there(checksum_lies, monkeypatch):
    """Its sheet says 1,000 bytes and unpacks to 3 MB: zipfile stops at 1,000, and so do we."""
    path = WORKBOOKS["long labels"]()
    with zipfile.ZipFile(path) as parts:
        sheet, data = parts.getinfo(SHEET), path.read_bytes()
        start = zlib.crc32(parts.read(SHEET)[:1000]) if checksum_lies else sheet.CRC
    for true, false in ((sheet.file_size, 1000), (sheet.CRC, start)):
        data = data.replace(struct.pack("<I", true), struct.pack("<I", false))
    path.write_bytes(data)
    monkeypatch.setenv(LIMIT, "1MB")
    with zipfile.ZipFile(path) as parts:
        if checksum_lies:
            assert len(parts.read(SHEET)) == 1000
        else:
            with pytest.raises(zipfile.BadZipFile):
                parts.read(SHEET)
    with pytest.raises(FileError, match=r"v.xlsx cannot be read as an Excel workbook: "):
        read(path)


# ---- fields that are longer than Python's csv reads ----

LONG = "long text " * 20_000


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("line", [1, 3])
@pytest.mark.parametrize(
    ("header", "row", "take"),
    [
        ("id,label", "1,tea", mm.read_item_names),
        ("item,about", "tea,hot", lambda path: read_items(Path(path))),
        ("user,group", "ann,old", lambda path: read_attributes(path, as_labels(["ann"]))),
    ],
)
def test_a_field_that_is_too_long_is_refused_with_its_line(header, row, take, line, quote):
    lines = [header, row, row]
    lines[line - 1] += f",{quote}{LONG}{quote}"
    Path("f.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError) as caught:
        take("f.csv")
    assert str(caught.value).startswith(f"f.csv line {line}: a field has more than 131,072 char")


# ---- model files with a crafted header and a right checksum ----


def test_offsets_that_are_no_numbers():
    data = save_tensors({"phi": np.zeros(2)}, metadata={"mallowmix": "{}"})
    length = int.from_bytes(data[:8], "little")
    for offsets in ([0, "x"], [0, None], [0, [1]], ["x", "y"], [], "x", [0, 1e400]):
        outer = json.loads(data[8 : 8 + length])
        outer["phi"]["data_offsets"] = offsets
        text = json.dumps(outer).encode()
        assert "was altered" in said(len(text).to_bytes(8, "little") + text + data[8 + length :])


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("report", None, "report is null; it must be a mapping."),
        ("calibration", None, "calibration is null; it must be a mapping."),
        ("calibration", [1], "calibration is [1]; it must be a mapping."),
        ("items", 5, "items is 5; it must be a list."),
        ("n_members", 1e308, "n_members is 1e+308; it must be a whole number."),
        ("n_members", True, "n_members is true; it must be a whole number."),
        ("n_members", 10**12, "it lacks 'member_1.alpha'"),
        ("predictor", None, "predictor is null; it must be a list."),
        ("items", ["tea", "\ud800", "milk"], "items holds the text '\\ud800'"),
        ("report", {"notes": ["\udc00"]}, "report holds the text '\\udc00'"),
        ("calibration", {"likelihood_weight": 1e308}, "likelihood_weight is 1e+308"),
        ("calibration", {"prior_scale": 1e308}, "prior_scale is 1e+308"),
    ],
)
def test_a_crafted_header_with_a_right_checksum(entry, value, message):
    sentence = said(by_hand({**HEADER, entry: value}, TENSORS))
    assert sentence.startswith("x.m4 is not a valid model: ") and message in sentence


def test_crafted_headers_of_older_formats():
    for version, entry in ((2, "report"), (2, "calibration"), (2, "others"), (1, "report")):
        old = {"items": HEADER["items"], "report": {}, "calibration": {}, "others": []}
        assert f"{entry} is null" in said(by_hand({**old, "format": version, entry: None}, TENSORS))


def test_parameters_whose_sum_overflows():
    with pytest.raises(DataError, match="alpha must hold"):
        mm.M4.from_orders(["abc", "cba"], 0.1, 1e308)
    assert "alpha must" in said(by_hand(HEADER, {**TENSORS, "alpha": np.full(2, 1e308)}))


def test_what_could_not_be_read_back_is_not_written():
    with pytest.raises(DataError, match="The model cannot be saved: items holds the text"):
        dumps(mm.M4.from_orders([["a", "\ud800"]], 0.1))
    with pytest.raises(ModelFileError):
        loads(b"")


# ---- databases and addresses ----


@pytest.fixture
def database(tmp_path):
    connection = sqlite3.connect(tmp_path / "v.sqlite")
    connection.execute("CREATE TABLE votes (user, winner, loser)")
    connection.execute("INSERT INTO votes VALUES ('ann', 'tea', 'milk')")
    connection.commit()
    connection.close()
    return tmp_path / "v.sqlite"


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH 'new.db' AS other",
        "VACUUM INTO 'new.db'",
        "VACUUM",
        "PRAGMA journal_mode=WAL",
        "CREATE TEMP TABLE x (a)",
        "DELETE FROM votes RETURNING user, winner, loser",
        "SELECT load_extension('x')",
    ],
)
def test_a_query_to_sqlite_can_only_read(database, query):
    before = database.read_bytes(), sorted(Path().iterdir())
    with pytest.raises(FileError):
        read(database, query=query)
    assert (database.read_bytes(), sorted(Path().iterdir())) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "ATTACH 'new.db' AS other",
        "COPY votes TO 'new.csv'",
        "EXPORT DATABASE 'new'",
        "SELECT * FROM read_csv('secret.csv')",
        "SELECT 1; ATTACH 'new.db' AS other",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "CREATE TEMP TABLE x (a INT)",
        "",
    ],
)
def test_a_query_to_duckdb_can_only_read(query):
    table = pa.table({"user": ["ann"], "winner": ["tea"], "loser": ["milk"]})
    write_table(table, Path("v.duckdb"))
    Path("secret.csv").write_text("user,winner,loser\nann,tea,milk\n")
    before = sorted(Path().iterdir())
    with pytest.raises(FileError):
        read("v.duckdb", query=query)
    assert sorted(Path().iterdir()) == before
    assert read("v.duckdb", query="SELECT * FROM votes").comparisons.n_users == 1


def test_queries_that_only_read_still_do(database):
    query = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
        SELECT user || i AS user, upper(winner) AS winner, loser FROM votes, n"""
    assert read(database, query=query).comparisons.users.tolist() == ["ann1", "ann2", "ann3"]


@pytest.mark.slow
def test_a_query_to_postgresql_can_only_read(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    for query in (
        "SELECT 1 AS a; COMMIT; CREATE TABLE new (a int)",
        "SELECT 1 AS a; COMMIT; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "CREATE TABLE new (a int)",
    ):
        with pytest.raises(FileError):
            read(postgres_url, query=query)
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT to_regclass('new')").fetchone()
    assert found == (None,)


@pytest.mark.parametrize(
    "address", ["postgresql://[", "http://[::1", "mysql://[x]y/", "postgresql://a\nb/c"]
)
def test_a_malformed_address_is_one_sentence(address):
    with pytest.raises((OptionError, FileError)) as caught:
        read(address, query="SELECT 1")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [":memory:", "sqlite:///:memory:", "duckdb:///:memory:"])
def test_a_database_in_memory_has_nothing_to_read(name):
    with pytest.raises(FileError):
        read(name, query="SELECT 1")
    with pytest.raises(FileError, match="name a file"):
        read(name if "://" in name else "sqlite:///:memory:", query="SELECT 1")


# ---- `serve`: the database of votes ----

BAD_SCHEMAS = {
    "somebody else's tables": [
        "CREATE TABLE accounts (name)",
        "INSERT INTO accounts VALUES ('ann')",
    ],
    "somebody else's view": ["CREATE VIEW accounts AS SELECT 1"],
    "somebody else's tables in a log": ["PRAGMA journal_mode=WAL", "CREATE TABLE accounts (name)"],
    "a meta without a schema": ["CREATE TABLE meta (key, value)"],
    "a version of the future": [
        "CREATE TABLE meta (key, value)",
        "INSERT INTO meta VALUES ('schema', '99')",
    ],
    "other columns of meta": ["CREATE TABLE meta (a)"],
    "a version that is no number": [
        "CREATE TABLE meta (key, value)",
        "INSERT INTO meta VALUES ('schema', 'x')",
    ],
    "a version below 0": [
        "CREATE TABLE meta (key, value)",
        "INSERT INTO meta VALUES ('schema', '-5')",
    ],
    "no tables beside meta": [
        "CREATE TABLE meta (key, value)",
        "INSERT INTO meta VALUES ('schema', '3')",
    ],
    "a damaged secret": [
        "CREATE TABLE meta (key, value)",
        "INSERT INTO meta VALUES ('schema', '3'), ('secret', 'zz')",
    ],
}


@pytest.mark.parametrize("schema", BAD_SCHEMAS)
def test_a_votes_database_with_a_bad_schema(schema):
    mm.save(mm.M4.from_orders(["abc"], 0.1), "m.m4")
    with sqlite3.connect("votes.db") as connection:
        for statement in BAD_SCHEMAS[schema]:
            connection.execute(statement)
    connection.close()
    before = {file: file.read_bytes() for file in Path().iterdir()}
    _, error = run("serve", "m.m4", "--votes", "votes.db", "--check", code=1)
    assert error.startswith("Error: votes.db cannot be used as the database of votes: it")
    assert error.count("\n") == 1
    assert {file: file.read_bytes() for file in Path().iterdir()} == before


@pytest.mark.parametrize(
    "votes",
    [
        ":memory:",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "postgresql://u:secret@host:port/x",
        "://",
    ],
)
def test_votes_that_would_be_lost_and_addresses_that_are_none(votes):
    mm.save(mm.M4.from_orders(["abc"], 0.1), "m.m4")
    _, error = run("serve", "m.m4", "--votes", votes, "--check", code=2)
    assert error.startswith("Error: --votes ") and error.count("\n") == 1
    assert "secret" not in error
    with pytest.raises(OptionError) as caught:  # the library, too
        Archive(votes)
    assert (caught.value.option, caught.value.value) == ("votes", "***")


def test_files_that_are_no_database_of_votes_keep_every_byte():
    """Also beside what a killed process left: a log, and a journal that wants to be played back."""
    Path("text.db").write_text("no database" * 100)
    code = (
        "import os, sqlite3\n"
        "for name, mode in (('log.db', 'WAL'), ('journal.db', 'DELETE')):\n"
        "    database = sqlite3.connect(name, isolation_level=None)\n"
        "    database.execute(f'PRAGMA journal_mode={mode}')\n"
        "    database.execute('PRAGMA cache_size=1')\n"
        "    database.execute('CREATE TABLE accounts (name)')\n"
        "    database.execute('BEGIN')\n"
        "    database.execute('INSERT INTO accounts SELECT zeroblob(9000)')\n"
        "    if mode == 'WAL': database.execute('COMMIT')\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert Path("log.db-wal").stat().st_size and Path("journal.db-journal").stat().st_size
    kept = ("text.db", "log.db", "log.db-wal", "journal.db", "journal.db-journal")
    before = {name: Path(name).read_bytes() for name in kept}
    for name in ("text.db", "log.db", "journal.db"):
        with pytest.raises(FileError) as caught:
            Store(name)
        assert str(caught.value).startswith(f"{name} cannot be used as the database of votes: ")
    assert {name: Path(name).read_bytes() for name in kept} == before


def test_a_sound_votes_database_is_opened_again():
    mm.save(mm.M4.from_orders(["abc"], 0.1), "m.m4")
    for _ in range(2):
        output, _ = run("serve", "m.m4", "--votes", "votes.db", "--check")
        assert "3 items" in output


# ---- the operating system ----


@pytest.mark.slow
def test_a_link_that_leads_to_itself():
    Path("good.csv").write_bytes(ROWS[:100_000].rpartition(b"\n")[0])
    for name in ("loop.csv", "loop.m4", "loop.sqlite", "loop.soc"):
        Path(name).symlink_to(name)
    for words in (
        ["check", "loop.csv"],
        ["check", "loop.sqlite", "--query", "SELECT 1"],
        ["check", "loop.soc"],
        ["show", "loop.m4"],
        ["fit", "loop.csv", "-k", "1"],
        ["fit", "good.csv", "-k", "1", "-o", "loop.m4"],
        ["convert", "good.csv", "loop.csv"],
        ["simulate", "loop.csv"],
    ):
        _, error = run(*words, code=1)
        assert "loop." in error and "link" in error and error.count("\n") == 1
    assert Path("loop.m4").is_symlink() and Path("loop.csv").is_symlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((f"out.{ending}", 16_384) for ending in ("sqlite", "duckdb", "csv", "parquet")),
        ("out.duckdb", 200_000),  # enough for its log, not for what is made of it on closing
    ],
)
def test_a_full_disk_while_converting_leaves_the_old_file(name, most):
    """A limit on the size of files stands for the disk: writing fails in the same place."""
    labels = [f"item {n}" for n in range(3_000)]
    rows = "".join(f"u{n},{a},{b}\n" for n, (a, b) in enumerate(pairwise(labels)))
    Path("v.csv").write_text("user,winner,loser\n" + rows)
    Path(name).write_text("as it was")
    before = sorted(Path().iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "mallowmix", "convert", "v.csv", name],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith(f"Error: {name} cannot be written: ")
    assert done.stderr.count("\n") == 1
    assert Path(name).read_text() == "as it was" and sorted(Path().iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
def test_a_closed_stdout_is_one_sentence(closed):
    mm.save(mm.M4.from_orders(["abc"], 0.1), "m.m4")
    close = {"stdout": ">&-", "stderr": "2>&-", "both": ">&- 2>&-"}[closed]
    command = f'"{sys.executable}" -m mallowmix show m.m4 {close}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if closed == "stderr" else 1)
    assert "Traceback" not in done.stderr
    if closed == "stdout":
        assert done.stderr.startswith("Error: The standard output is closed")
        assert done.stderr.count("\n") == 1


def test_too_little_memory_for_arrow_is_an_error_and_not_the_end(tmp_path, monkeypatch):
    """Arrow ends the process where it finds none: so that is asked for before it is called."""
    path = tmp_path / "votes.csv"
    path.write_text("user,winner,loser\nu,a,b\n")
    monkeypatch.setattr("mallowmix.readers.csv_files._ROOM", 1 << 62)
    with pytest.raises(MemoryError):
        mm.read(path)
