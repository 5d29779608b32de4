"""Names of an earlier release, read for one more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syntagma import aliases
from syntagma.network.config import ModelConfig
from syntagma.network.folder import read_config
from syntagma.search import SearchOptions
from syntagma.settings import Settings

SEARCH = {
    "novel": True, "stutter": False, "adjacent_repeats": False, "coin": False, "rank": "whole", "back": 0.2,
    "diversity": 1, "groups": 2,
}  # fmt: skip
MODEL = {"whole": True, "slots": True, "max_slots": 32}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliases, "_warned", set())


def test_every_alias_is_of_a_setting_that_there_is() -> None:
    classes = {kind.__name__: kind for kind in Settings.__subclasses__()}
    for kind, table in aliases.ALIASES.items():
        fields = classes[kind].__dataclass_fields__  # type: ignore[attr-defined]
        assert {alias.name for alias in table.values()} <= fields.keys()
        assert not table.keys() & fields.keys()
    assert {"SearchOptions": set(SEARCH), "ModelConfig": set(MODEL)} == {k: set(v) for k, v in aliases.ALIASES.items()}


def test_former_names_of_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    present = SearchOptions(
        forbid_copy=True, no_adjacent_repeats=True, known_words_only=True, rerank="seq2seq", channel_weight=0.2,
        diversity_penalty=1.0, num_beam_groups=2,
    )  # fmt: skip
    assert SearchOptions.from_dict(SEARCH) == present  # what is stored is read without a word
    assert capsys.readouterr().err == ""
    assert SearchOptions().changed(SEARCH) == present
    told = capsys.readouterr().err.splitlines()
    assert "syntagma: 'coin' is now known_words_only=True; the old name goes with the next release" in told
    assert len(told) == len(SEARCH)
    assert SearchOptions().changed({"rank": "score"}).rerank == "none"
    assert present.changed({"coin": True}).known_words_only is False
    assert capsys.readouterr().err == ""  # each is said once


def test_a_model_folder_of_the_release_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    present = {"seq2seq_objective": True, "label_index": True, "max_open_labels": 32}
    config = ModelConfig.from_dict({"vocabulary": 100} | present)
    former = {name: value for name, value in config.to_dict().items() if name not in present} | MODEL
    assert read_config(tmp_path, json.loads(json.dumps({"model": former}))) == (config, {})
    assert "'whole' is now seq2seq_objective=True" in capsys.readouterr().err
