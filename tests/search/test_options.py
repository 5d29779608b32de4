from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from search_models import TEXTS, random_generator, random_model
from syntagma.errors import ConfigError, SyntagmaError
from syntagma.network.storage import save_pretrained
from syntagma.runtime.base import NO_WORDS
from syntagma.search import Generator, SearchOptions, Steering
from syntagma.search.constraints.base import Allowed, Constraint
from syntagma.search.constraints.grammar import WORDS
from syntagma.search.options import named
from syntagma.search.outcome import check_found
from syntagma.search.request import TooMuchWork
from syntagma.search.task import InfillTask
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_papers_search_has_a_name() -> None:
    paper = named("paper")
    assert paper == SearchOptions.paper()
    assert (paper.alpha, paper.score, paper.prune, paper.rerank) == (0.8, "sum", 0.0, "none")
    off = (paper.forbid_copy, paper.no_adjacent_repeats, paper.known_words_only, paper.split, paper.sample)
    assert not any(off)
    with pytest.raises(ConfigError, match="there is no search setting 'mine'; choose one of paper"):
        named("mine")


def test_a_requests_work_is_bounded() -> None:
    generator = random_generator(SUBWORDS, 1, beam=2, max_row_steps=6)
    good, bad, last = generator.stream(
        ["I", TEXTS[0], "an apple"], options=generator.defaults.changed({"max_depth": 1, "max_tokens": 3})
    )
    assert isinstance(good, list)
    scheduler = generator.scheduler()
    request = generator.request(0, TEXTS[0], Steering(), generator.defaults)
    (done,) = scheduler.run([request])
    assert scheduler.row_steps <= 6 * 2 + 4
    assert scheduler.running == 0
    with pytest.raises(TooMuchWork, match="took more than 12 steps; shorten the text"):
        check_found(done)
    assert all(isinstance(one, list | SyntagmaError) for one in (bad, last))


def test_constraints_that_leave_nothing_are_said() -> None:
    generator = random_generator(SUBWORDS, 1, beam=2)
    growth = generator.grow(TEXTS[0])
    growth.replace(0, "<NP>").require(labels=["PP"]).forbid(labels=["PP"])
    with pytest.raises(ConfigError, match="no output meets the constraints on words and labels"):
        growth.finish()


def test_options_on_the_command_line(syntagma: Run, tmp_path: Path) -> None:
    about = {"search": {"max_depth": 4, "max_tokens": 10, "novel": True}}
    save_pretrained(tmp_path / "model", random_model(SUBWORDS, 4), SUBWORDS, "# Random\n", about=about)
    plain = syntagma("generate", "--model", "model", "forbid_copy=true", "rerank=joint", TEXTS[0])
    assert plain.stderr == ""
    former = syntagma("generate", "--model", "model", "--novel", "--rank", "joint", TEXTS[0])
    assert former.stdout == plain.stdout
    assert former.stderr.count("is now") == 2
    syntagma("generate", "--model", "model", "--search", "paper", "max_depth=3", "--device", "cpu", "I")
    wrong = syntagma("generate", "--model", "model", "--device", "cuda:3", "I", check=1)
    assert wrong.stderr == "syntagma: the device 'cuda:3' is not here; give another, or auto\n"


class NoKind(Constraint):
    """Nothing may follow the first token that the search feeds."""

    strict = True

    def begin(self, task: InfillTask) -> bool:
        return True

    def mask(self, state: Any, allowed: Allowed) -> None:
        allowed.kinds = 0


class NoWord(NoKind):
    """Only words may, and there are none."""

    def mask(self, state: Any, allowed: Allowed) -> None:
        allowed.kinds, allowed.words = WORDS, NO_WORDS


@pytest.mark.parametrize("constraint", [NoKind(), NoWord()])
def test_a_mask_that_leaves_nothing_is_said(constraint: Constraint, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its text alone."""
    usual = Generator._constraints

    def constraints(self: Generator, text: str, *given: Any) -> Iterator[Constraint]:
        yield from usual(self, text, *given)
        if text == "I":
            yield constraint

    monkeypatch.setattr(Generator, "_constraints", constraints)
    nothing, found = random_generator(SUBWORDS, 1, beam=2).stream(["I", "an apple"])
    told = "the constraints leave the model nothing to write; lift one: known_words_only, max_unary_repeats"
    assert isinstance(nothing, ConfigError)
    assert str(nothing) == told
    assert isinstance(found, list)
    assert found


OVERREACHING = {
    "rerank=seq2seq": "this model has not learnt to write whole texts; use rerank=joint without channel_weight, or",
    "num_plans=2": "this model has not learnt to write drafts; use num_plans=0 and num_drafts=0, or a model trained",
    "known_words_only=true": "this model has no list of the words that it knows; use known_words_only=false, or",
    "seq2seq=true": "this model has not learnt to write whole texts beside its levels; leave seq2seq=true out, or",
}
"""Options that a model with nothing beside its levels cannot obey."""


@pytest.mark.parametrize("option", OVERREACHING)
def test_options_that_no_text_can_be_searched_with_are_one_error(option: str) -> None:
    generator = random_generator(SUBWORDS, 1)
    name, _, value = option.partition("=")
    options = generator.defaults.changed({name: json.loads(value) if value != "seq2seq" else value})

    def texts() -> Iterator[str]:
        raise AssertionError("a text is taken in")
        yield ""

    with pytest.raises(ConfigError, match=OVERREACHING[option]):
        generator.stream(texts(), options=options)


def test_one_error_for_a_command_of_many_texts(syntagma: Run, tmp_path: Path) -> None:
    save_pretrained(tmp_path / "model", random_model(SUBWORDS, 4), SUBWORDS, "# Random\n")
    for words in (["rerank=seq2seq", "I", "an apple"], ["rerank=joint", "channel_weight=0.5", "--out", "out", "I"]):
        done = syntagma("generate", "--model", "model", *words, check=1)
        assert (
            done.stderr == f"syntagma: {OVERREACHING['rerank=seq2seq']} a model trained with seq2seq_objective=true\n"
        )
        assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_search_needs_no_torch() -> None:
    """Importing it, and all that it is made of, loads no torch."""
    modules = "syntagma.search, syntagma.search.explain, syntagma.search.parallel, syntagma.runtime.device"
    program = (
        f"import sys, {modules}; sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
