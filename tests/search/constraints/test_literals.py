from __future__ import annotations

import pytest

from search_models import TEXTS, random_generator
from syntagma.search.constraints.literals import literals
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. economy grew 2.5% in Q3 2024.", ["U.S.", "2.5%", "Q3", "2024"]),
        ("I met Maria's brother in New York at 10:30.", ["Maria", "New", "York", "10:30"]),
        ("Write to bob@example.org or see https://example.com/x.html.", ["bob@example.org", "https://example.com/x.html"]),
        ("However, Tom and I left.", ["Tom"]),
        ("I'm sure that it rains. He is not.", []),
        ("Then Tom met Maria and Peter there.", ["Tom", "Maria", "Peter"]),
        ("WARNING: DO NOT ENTER", []),
        ("How To Cook Rice In Ten Minutes", []),
        ("", []),
    ],
)  # fmt: skip
def test_numbers_names_and_addresses_are_literals(text: str, expected: list[str]) -> None:
    assert literals(text) == expected


@pytest.mark.parametrize("text", ["He saw Tom at 12.", "Did Li ask for 3.5 of them?", "See www.example.org, I say."])
def test_every_output_holds_them_whatever_the_model_prefers(text: str) -> None:
    for seed in range(3):
        generator = random_generator(SUBWORDS, seed, beam=3, max_tokens=40, keep_literals=True)
        (best, *_) = generator(text)
        for literal in literals(text):
            assert literal.lower() in best.text.lower()


def test_what_the_user_rules_out_is_not_required() -> None:
    generator = random_generator(SUBWORDS, 1, beam=3, keep_literals=True)
    assert all("Tom" not in output.text for output in generator("He saw Tom at 12.", must_not=["Tom"], nbest=3))


def test_a_number_that_the_source_does_not_have_is_left_out() -> None:
    generator = random_generator(SUBWORDS, 1, keep_literals=True)
    request = generator.request(0, "He paid 12.", generator.steering(), generator.defaults)
    (constraint,) = (each for each in request.fixed_constraints if type(each).__name__ == "NumberConstraint")
    verdicts = {}
    for text in ("He paid 12.", "12 is paid.", "He paid 13.", "He paid."):
        hypothesis = request.start
        context = hypothesis.context._replace(ids=SUBWORDS.encode(text))
        verdicts[text] = constraint.keep(type(hypothesis)(context, 0.0, 2))
    assert verdicts == {"He paid 12.": True, "12 is paid.": True, "He paid 13.": False, "He paid.": True}
