from __future__ import annotations

import gzip
import pickle
from contextlib import suppress
from pathlib import Path

import pytest

from syntagma.errors import InputError, MissingExtra, Place, SyntagmaError
from syntagma.files import make_whole, read_lines, scan_lines, write_whole


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    with write_whole(target) as stream:
        stream.write("one\n")
        assert not target.exists()
    assert target.read_text() == "one\n"
    with pytest.raises(UnicodeEncodeError), write_whole(target) as stream:
        stream.write("two\ud800\n")
    assert target.read_text() == "one\n"
    assert [entry.name for entry in target.parent.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"), write_whole(tmp_path / "file" / "below"):
        pass


def test_lines_that_are_not_text_do_not_end_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\xff\nb")
    first, error, last = scan_lines(path)
    assert (first, last) == ("a", "b")
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match="line 2, column 1"):
        list(read_lines(path))


def test_a_cut_off_gzip_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"a\n" * 100_000)[:-20])
    with pytest.raises(InputError, match="cannot be read to its end"):
        list(read_lines(path))


def test_errors_cross_processes_whole() -> None:
    for error in (SyntagmaError("x", Place("f", 1, 2), "y"), MissingExtra("p", "e", "this")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.place) == (type(error), str(error), error.place)


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with suppress(KeyError), make_whole(folder) as part:
        (part / "file").write_text("half")
        raise KeyError
    assert not list(folder.parent.iterdir())
    with make_whole(folder) as part:
        (part / "file").write_text("whole")
        assert not folder.exists()
    assert [one.name for one in folder.parent.iterdir()] == ["folder"]
    with pytest.raises(InputError, match="it exists already; give a new folder"), make_whole(folder):
        pass
