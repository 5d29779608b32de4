from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from syntagma.errors import ConfigError
from syntagma.hub import bundled
from syntagma.network.folder import ModelFolder
from syntagma.network.purpose import Purpose


@pytest.mark.parametrize(
    ("about", "name", "purpose"),
    [
        ({"task": "paraphrase", "source_language": "zh"}, "translate-de-en", Purpose("paraphrase", "zh")),
        ({"task": "paraphrase"}, "tiny", Purpose("paraphrase")),
        ({}, "my-translate-zh-en-v2", Purpose("translate", "zh", "en")),
        ({}, "translated", Purpose()),
        ({"task": ["paraphrase"], "source_language": 7, "target_language": "<b>"}, "run", Purpose()),
    ],
)
def test_what_a_folder_says_goes_before_its_name_and_nonsense_is_nothing(
    about: dict[str, object], name: str, purpose: Purpose
) -> None:
    assert Purpose.of(about, name) == purpose


def test_pairs_of_one_language_are_paraphrases_and_an_unknown_language_is_left_out() -> None:
    english = ["I have not read the book.", "What do you want to do with it?"]
    assert Purpose.guess(english, english) == Purpose("paraphrase", "en", "en")
    assert Purpose.guess(["x1", "x2"], english).to_dict() == {"target_language": "en"}


def test_every_bundled_model_names_its_task_and_languages() -> None:
    for name in bundled("model"):
        purpose = ModelFolder.open(name).purpose
        assert purpose.to_dict().keys() <= ModelFolder.open(name).about.keys()
        assert purpose == Purpose.of({}, name)


def test_an_export_keeps_what_it_was_told_before_and_takes_what_it_is_told(
    syntagma: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    syntagma("export", "--model", "translate-de-en", "--out", first, "--source-language", "gsw")
    assert ModelFolder.open(first).purpose == Purpose("translate", "gsw", "en")
    syntagma("export", "--model", first, "--out", second, "--task", "paraphrase")
    assert ModelFolder.open(second).purpose == Purpose("paraphrase", "gsw", "en")
    told = syntagma("export", "--model", first, "--out", third, "--target-language", "German", check=1).stderr
    assert "no code of a language" in told
    assert not third.exists()
    with pytest.raises(ConfigError, match="is no task"):
        Purpose("summarise").checked()
