from __future__ import annotations

import pytest
from typer.testing import CliRunner

from syntagma.cli import app
from syntagma.corpus.alternations import RULES, alternations
from syntagma.parse import Parser

MADE = [
    ("front", "We slept because it rained.", "Because it rained, we slept."),
    ("front", "Tom left before the film ended.", "Before the film ended, Tom left."),
    ("front", "John's dog bit me on Sunday.", "On Sunday, John's dog bit me."),
    ("back", "If you have time, we could have lunch.", "We could have lunch if you have time."),
    ("back", "Although it rained, I went out.", "I went out, although it rained."),
    ("back", "In 1912 Albania became independent.", "Albania became independent in 1912."),
    ("passive", "The storm damaged the roof.", "The roof was damaged by the storm."),
    ("passive", "Our teacher wrote these books.", "These books were written by our teacher."),
    ("active", "The roof was damaged by the storm.", "The storm damaged the roof."),
    ("active", "He was seen by them.", "They saw him."),
    ("dative", "She gave her brother the key.", "She gave the key to her brother."),
    ("dative", "She gave the key to her brother.", "She gave her brother the key."),
    ("gerund", "It isn't easy to find a good job.", "Finding a good job is not easy."),
    ("particle", "He can't turn off the light.", "He can't turn the light off."),
    ("said", "Police said that the road was closed.", "The road was closed, police said."),
]
LEFT = [
    "I don't know if he is coming.",  # no adverbial clause
    "When Tom came home, he was tired.",  # the pronoun would come first
    "He resembled the king.",
    "It has been a year since we met.",
    "He was killed by accident.",
    "Is it cold?",
    "Hello!",
]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser.from_pretrained()


@pytest.mark.parametrize(("rule", "text", "other"), MADE)
def test_a_rule_changes_the_structure_and_keeps_the_words(rule: str, text: str, other: str, parser: Parser) -> None:
    assert (rule, other) in alternations(text, parser(text))


def test_every_rule_has_an_example() -> None:
    assert {rule for rule, *_ in MADE} == set(RULES)


@pytest.mark.parametrize("text", LEFT)
def test_what_no_rule_may_touch(text: str, parser: Parser) -> None:
    assert alternations(text, parser(text)) == []


def test_a_tree_of_other_words_is_left_alone(parser: Parser) -> None:
    assert alternations("We slept, because it rained.", parser("We slept because it rained.")) == []


def test_of_a_pair_the_target_is_restructured() -> None:
    run = CliRunner().invoke(app, ["alternate", "-i", "-"], input="So we slept.\tWe slept because it rained.\nHi!\n\n")
    assert run.stdout == "So we slept.\tBecause it rained, we slept.\tfront\n"
