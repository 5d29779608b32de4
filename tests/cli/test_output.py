"""What `generate --out` writes survives kills, other options and full disks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from syntagma.cli.output import WRITTEN, PartFile, check_finished, check_target, target
from syntagma.errors import ConfigError, InputError, SyntagmaError

RUN = {"model": "abc", "search": {"beam": 5}}
SOURCES: list[str | SyntagmaError] = ["one", SyntagmaError("bad"), "", "four", "five"]


def write(out: Path, stop: int | None = None, resume: bool = False, sources: Iterable[str | SyntagmaError] = SOURCES,
          run: dict[str, object] = RUN) -> int:  # fmt: skip
    """A run that makes two lines a record, and dies before record `stop`; how many sources failed."""
    with target(out, run, resume, False) as records:
        failed = records.failed
        for number, source in enumerate(records.rest(sources)):
            if source is WRITTEN:
                continue
            if number == stop:
                raise KeyboardInterrupt
            bad = not isinstance(source, str)
            failed += bad
            records.write(source, f"<{source}>\né{number}\n", bad)
    return failed


@pytest.mark.parametrize("stop", range(len(SOURCES)))
@pytest.mark.parametrize("torn", [b"", b"half a rec"])
def test_a_stopped_run_goes_on_to_the_same_bytes(stop: int, torn: bytes, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert write(whole) == 1
    with pytest.raises(KeyboardInterrupt):
        write(killed, stop)
    assert not killed.exists()
    with open(tmp_path / "killed.part", "ab") as stream:
        stream.write(torn)
    with open(tmp_path / "killed.part.run", "ab") as stream:
        stream.write(torn)
    assert write(killed, resume=True) == 1
    assert killed.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "killed.run", "whole", "whole.run"]


def test_records_that_the_disk_lost_are_written_again(tmp_path: Path) -> None:
    write(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", 4)
    part = tmp_path / "out.part"
    part.write_bytes(part.read_bytes()[:-3])
    write(tmp_path / "out", resume=True)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_another_run_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write(out, 3)
    before = (tmp_path / "out.part").read_bytes()
    with pytest.raises(ConfigError, match=r"part: the unfinished run here is another \(beam was 5, now 1\); give"):
        write(out, resume=True, run={"model": "abc", "search": {"beam": 1}})
    with pytest.raises(ConfigError, match="line 1 of the input is not the one"):
        write(out, resume=True, sources=["uno", *SOURCES[1:]])
    with pytest.raises(ConfigError, match="line 3 of the input is not the one"):
        write(out, resume=True, sources=SOURCES[:2])
    assert (tmp_path / "out.part").read_bytes() == before


def test_nothing_that_is_there_is_lost(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert not check_target(out, resume=True, overwrite=False)  # nothing to go on with: begin
    with pytest.raises(KeyboardInterrupt):
        write(out, 2)
    with pytest.raises(ConfigError, match="an unfinished run is here; go on with --resume, or start anew"):
        check_target(out, resume=False, overwrite=False)
    assert not check_target(out, resume=True, overwrite=False)
    write(out, resume=True)
    with pytest.raises(ConfigError, match="it exists already; give another --out, or --overwrite"):
        check_target(out, resume=False, overwrite=False)
    assert check_target(out, resume=True, overwrite=False)
    assert not check_target(out, resume=False, overwrite=True)
    finished = out.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write(out, 2)  # as --overwrite does
    assert out.read_bytes() == finished
    for resume, overwrite, path in ((True, True, out), (True, False, None)):
        with pytest.raises(ConfigError, match="--resume goes on with the file that --out names"):
            check_target(path, resume, overwrite)


def test_a_finished_file_of_another_run_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out)
    assert check_finished(out, RUN, SOURCES) == 1
    before = out.read_bytes()
    with pytest.raises(
        ConfigError, match=r"out: the finished run here is another \(beam was 5, now 1\); give the same"
    ):
        check_finished(out, {"model": "abc", "search": {"beam": 1}}, SOURCES)
    for sources in (SOURCES[:-1], [*SOURCES, "six"], ["uno", *SOURCES[1:]], SOURCES[::-1]):
        with pytest.raises(ConfigError, match="it was made from another input, of 5 lines; give another --out"):
            check_finished(out, RUN, sources)
    assert out.read_bytes() == before
    out.write_bytes(before + b"\n")
    with pytest.raises(ConfigError, match="nothing says that a run of `generate` made it as it is; give another --out"):
        check_finished(out, RUN, SOURCES)
    out.write_bytes(before)
    (tmp_path / "out.run").unlink()
    with pytest.raises(ConfigError, match="nothing says that a run of `generate` made it"):
        check_finished(out, RUN, SOURCES)


@pytest.mark.parametrize(
    ("owner", "name", "killed_by"),
    [(os, "fsync", None), (os, "replace", "out.run"), (os, "replace", "out"), (Path, "unlink", "out.part.run")],
)
def test_killed_while_a_file_gets_its_name(
    owner: Any, name: str, killed_by: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write(out, run={"model": "another"}, sources=["uno"])  # replaced, as by --overwrite
    done = getattr(owner, name)

    def killed(*arguments: Any, **options: Any) -> Any:
        if killed_by is None or Path(arguments[-1]).name == killed_by:
            raise KeyboardInterrupt
        return done(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            write(out)
    finished = check_target(out, resume=True, overwrite=False)
    assert finished == (name == "unlink")
    assert (check_finished(out, RUN, SOURCES) if finished else write(out, resume=True)) == 1
    assert out.read_text().startswith("<one>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.run"]


def test_a_run_that_begins_anew_takes_nothing_over(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", 3)
    other: dict[str, object] = {"model": "xyz"}
    write(tmp_path / "out", run=other, sources=["uno"])
    assert (tmp_path / "out").read_text() == "<uno>\né0\n"


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.part").write_text("")  # a run was killed before it had begun
    assert check_target(tmp_path / "out", resume=False, overwrite=False) is False
    (tmp_path / "out.part").write_text("a part of mine")
    for resume, overwrite in ((False, False), (True, False), (False, True)):
        with pytest.raises(ConfigError, match="no run of `generate` left this file; move it, or give another --out"):
            check_target(tmp_path / "out", resume, overwrite)


def test_a_record_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    part = PartFile(tmp_path / "out", RUN, False)
    part.write("one", "eins\n", False)
    assert (tmp_path / "out.part").read_text() == "eins\n"
    assert json.loads((tmp_path / "out.part.run").read_text().splitlines()[0]) == RUN
    part.close()


def test_a_device_is_written_to_as_it_is(tmp_path: Path) -> None:
    write(Path("/dev/null"))
    assert not Path("/dev/null.part").exists()
    with pytest.raises(InputError, match=r"/dev/full: it cannot be written .no space left on device"):
        write(Path("/dev/full"))


def test_folders_are_made(tmp_path: Path) -> None:
    for _ in range(2):
        write(tmp_path / "a" / "b" / "out")
    assert (tmp_path / "a" / "b" / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"out: it cannot be written .file exists"):
        write(tmp_path / "file" / "out")
