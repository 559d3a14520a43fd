"""A file is written whole or not at all."""

import os
import stat

import pytest

from mallowmix.data.atomic_write import replacing
from mallowmix.errors import FileError


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_appears_only_at_the_end(tmp_path):
    path = tmp_path / "table.csv"
    with replacing(path) as temporary:
        temporary.write_text("a,b\n")
        assert not path.exists() and temporary.parent == tmp_path and temporary.name.startswith(".")
    assert path.read_text() == "a,b\n" and names(tmp_path) == ["table.csv"]


def test_an_existing_file_is_replaced_and_readers_of_the_old_one_keep_it(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with replacing(str(path)) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with path.open() as open_before:
        with replacing(path) as temporary:
            temporary.write_text("newer")
        assert open_before.read() == "new"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("before", [None, "old"])
def test_a_failure_leaves_everything_as_it_was(tmp_path, failure, before):
    path = tmp_path / "table.csv"
    if before:
        path.write_text(before)
    with pytest.raises(failure), replacing(path) as temporary:
        temporary.write_text("half")
        raise failure
    assert names(tmp_path) == (["table.csv"] if before else [])
    assert not before or path.read_text() == before


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_refuses_leaves_everything_as_it_was(tmp_path, monkeypatch, step):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def refuse(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(FileError) as caught, replacing(path) as temporary:
        temporary.write_text("new")
    assert str(caught.value) == f"{path} cannot be written: No space left on device."
    assert path.read_text() == "old" and names(tmp_path) == ["table.csv"]


def test_what_was_written_is_on_disk_before_the_name_changes(tmp_path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (steps.append("fsync"), fsync(descriptor)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("replace"), replace(*names)))
    with replacing(tmp_path / "table.csv") as temporary:
        temporary.write_text("new")
    assert steps[:2] == ["fsync", "replace"]


def test_the_block_may_write_by_replacing_the_temporary_file_itself(tmp_path):
    path = tmp_path / "table.csv"
    with replacing(path) as temporary:
        temporary.unlink()
        temporary.write_text("new")
    assert path.read_text() == "new"


def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path):
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_text("old")
    old.chmod(0o640)
    plain.write_text("")
    for path in (old, new):
        with replacing(path) as temporary:
            temporary.write_text("new")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink() and target.read_text() == "new"


def test_what_cannot_be_replaced_is_refused_at_once(tmp_path):
    for path, message in [
        (tmp_path, f"{tmp_path} cannot be written: it is a folder; give the name of a file."),
        (
            tmp_path / "no" / "x.csv",
            f"x.csv cannot be written: there is no folder {tmp_path / 'no'}; make it first.",
        ),
        (
            os.devnull,
            f"{os.path.realpath(os.devnull)} cannot be written: it is not a plain file; give "
            "the name of a file.",
        ),
    ]:
        with pytest.raises(FileError) as caught, replacing(path):
            pytest.fail("the block must not run")
        assert str(caught.value) == message
    assert names(tmp_path) == []


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(FileError) as caught, replacing(tmp_path / "x.csv"):
        pytest.fail("the block must not run")
    assert str(caught.value) == f"{tmp_path / 'x.csv'} cannot be written: Permission denied."
