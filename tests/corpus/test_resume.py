"""A run that is killed goes on where it was and ends with the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from syntagma import executors as engines_module
from syntagma.corpus import Corpus, CorpusOptions, Input, prepare
from syntagma.corpus.chunks import Parsing
from syntagma.errors import ConfigError, InputError, SyntagmaError
from syntagma.files import locked

Write = Callable[[int], tuple[str, str]]
Hashes = Callable[[Path], dict[str, str]]

SCRIPT = """
import sys
from syntagma.corpus import CorpusOptions, prepare

if __name__ == "__main__":
    prepare(CorpusOptions.from_dict(eval(sys.argv[1])), sys.argv[2], workers=int(sys.argv[3]))
"""


def start(options: CorpusOptions, out: Path, workers: int) -> subprocess.Popen[bytes]:
    script = out.with_suffix(".py")
    script.write_text(SCRIPT)
    arguments = [repr(options.to_dict()), str(out), str(workers)]
    return subprocess.Popen([sys.executable, str(script), *arguments], stderr=subprocess.PIPE)


def files_in(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    tmp_path: Path, write_pairs: Write, hashes: Hashes
) -> None:
    settings = {"chunk_rows": 100, "shard_pairs": 150, "max_words": 13, "dev": 20, "test": 10, "label_noise": 0.2}
    options = CorpusOptions.from_dict({**options_of(write_pairs(1500)).to_dict(), **settings})
    prepare(options, tmp_path / "whole", workers=1)
    draw = random.Random(os.getpid())
    out = tmp_path / "broken"
    moments = sorted(draw.sample(range(1, 58), 4))  # so many files are there when the run is killed
    kills = 0
    for number, moment in enumerate(moments):
        run = start(options, out, 2 if number == 1 else 1)
        while run.poll() is None and files_in(out) < moment:
            time.sleep(0.001)
        time.sleep(draw.random() * 0.01)
        kills += run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.communicate()
    last = start(options, out, 1)
    _, errors = last.communicate()
    assert last.returncode == 0, errors.decode()
    assert kills >= 3
    assert hashes(out) == hashes(tmp_path / "whole")
    assert len(Corpus.open(out)) > 1000


def options_of(files: tuple[str, str]) -> CorpusOptions:
    return CorpusOptions(inputs=(Input(files[0]),), parser=f"brackets:{files[1]}", vocab_size=400, chunk_rows=50)


@pytest.fixture
def stopped(tmp_path: Path, write_pairs: Write, monkeypatch: pytest.MonkeyPatch) -> tuple[CorpusOptions, Path]:
    """A run that stopped after its third chunk."""
    options = options_of(write_pairs(300))
    real = Parsing.__call__

    def three(self: Parsing, job: object) -> object:
        summary = real(self, job)  # type: ignore[arg-type]
        if summary.number == 2:
            raise KeyboardInterrupt
        return summary

    with monkeypatch.context() as patch:
        patch.setattr(Parsing, "__call__", three)
        with pytest.raises(KeyboardInterrupt):
            prepare(options, tmp_path / "out", workers=1)
    return options, tmp_path / "out"


def test_finished_chunks_are_not_done_again(
    stopped: tuple[CorpusOptions, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, out = stopped
    with pytest.raises(InputError, match="this corpus is not finished"):
        Corpus.open(out)
    done: list[int] = []
    real = Parsing.__call__

    def noted(self: Parsing, job: object) -> object:
        done.append(job.number)  # type: ignore[attr-defined]
        return real(self, job)  # type: ignore[arg-type]

    monkeypatch.setattr(Parsing, "__call__", noted)
    prepare(options, out, workers=1)
    assert done == [3, 4, 5]


def test_other_input_or_options_are_noticed(stopped: tuple[CorpusOptions, Path]) -> None:
    options, out = stopped
    changed = CorpusOptions.from_dict({**options.to_dict(), "max_words": 5})
    with pytest.raises(ConfigError, match=r"begun with other options \(max_words was 128, now 5\)"):
        prepare(changed, out, workers=1)
    path = Path(options.inputs[0].path)
    path.write_text("Oh.\t" + path.read_text().split("\t", 1)[1])
    with pytest.raises(
        ConfigError, match="the input has changed since this corpus was begun; give the same input again"
    ):
        prepare(options, out, workers=1)
    prepare(options, out, workers=1, overwrite=True)


def test_chunks_of_two_parsers_are_not_mixed(stopped: tuple[CorpusOptions, Path]) -> None:
    options, out = stopped
    for number, version in ((0, "1"), (1, "2")):
        path = out / "work" / f"chunk-{number:06d}.json"
        path.write_text(path.read_text().replace('"parser": null', f'"parser": ["neural", "{version}"]'))
    with pytest.raises(ConfigError, match="parsed by neural 1 and neural 2; start anew with --overwrite"):
        prepare(options, out, workers=1)


def test_one_run_at_a_time(stopped: tuple[CorpusOptions, Path]) -> None:
    options, out = stopped
    pytest.importorskip("fcntl")
    with locked(out), pytest.raises(ConfigError, match="another run is at work in this folder"):
        prepare(options, out, workers=1)


def test_overwriting_an_unfinished_run_of_the_same_options_goes_on(
    stopped: tuple[CorpusOptions, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, out = stopped
    before = (out / "work" / "chunk-000001.json").stat().st_mtime_ns
    with monkeypatch.context() as patch:
        patch.setattr("syntagma.corpus.build._write_facts", _stop)
        with pytest.raises(KeyboardInterrupt):
            prepare(options, out, workers=1, overwrite=True)
    assert (out / "work" / "chunk-000001.json").stat().st_mtime_ns == before
    prepare(options, out, workers=1)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_killed_before_anything_was_done(tmp_path: Path, write_pairs: Write) -> None:
    options = options_of(write_pairs(60))
    (tmp_path / "out" / "work").mkdir(parents=True)
    (tmp_path / "out" / "work" / ".options.json.77.part").write_text("{")
    prepare(options, tmp_path / "out", workers=1)
    other = tmp_path / "other"
    (other / "work").mkdir(parents=True)
    (other / "work" / "options.json").write_text(json.dumps({**options.to_dict(), "seed": 9}))
    assert prepare(options, other, workers=1).options.seed == 1  # nothing had been done with the other options


def test_killed_while_removing(
    tmp_path: Path, write_pairs: Write, monkeypatch: pytest.MonkeyPatch, hashes: Hashes
) -> None:
    options = options_of(write_pairs(60))
    out = tmp_path / "out"
    prepare(options, out, workers=1)
    whole = hashes(out)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", _stop)
        with pytest.raises(KeyboardInterrupt):
            prepare(options, out, workers=1, overwrite=True)
    (out / "rejects.jsonl").write_text("left over")
    prepare(options, out, workers=1)
    assert hashes(out) == whole
    (out / "work").mkdir()  # killed at the very end
    (out / "work" / "options.json").write_text("{}")
    prepare(options, out, workers=1)
    assert hashes(out) == whole


def test_workers_change_nothing_and_their_errors_arrive(tmp_path: Path, write_pairs: Write, hashes: Hashes) -> None:
    files = write_pairs(300)
    prepare(options_of(files), tmp_path / "one", workers=1)
    prepare(options_of(files), tmp_path / "two", workers=2)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")
    trees = Path(files[1])
    lines = trees.read_text().splitlines()
    trees.write_text("\n".join([*lines[:250], "(S other)", *lines[251:]]) + "\n")
    with pytest.raises(SyntagmaError, match=r"pairs\.trees, line 251: the tree has other words"):
        prepare(options_of(files), tmp_path / "three", workers=2)


def test_unknown_engine() -> None:
    with pytest.raises(ConfigError, match="there is no executor 'spark'; use local or ray"):
        list(engines_module.run("spark", int, [], 1))
