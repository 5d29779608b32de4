from __future__ import annotations

import pytest

from search_models import TEXTS, random_generator
from syntagma.search.explain import explain
from syntagma.search.steering import Steering
from syntagma.text import Subwords, split

SUBWORDS = Subwords.train([split(text).words for text in TEXTS * 3], size=300)


CHINESE = "我没有读过这本书。"


@pytest.mark.parametrize("text", [CHINESE, "Это моя книга.", "هذا كتابي"])
def test_a_text_in_another_script_is_returned_unchanged_with_a_note(text: str) -> None:
    generator = random_generator(SUBWORDS)
    generator.language = "en"
    (output,) = generator(text, nbest=3)
    assert output.text == text
    assert "another script" in output.note
    assert "another script" not in generator(TEXTS[0])[0].note
    generator.language = "zh"
    assert ("another script" in generator(text)[0].note) == (text != CHINESE)


def test_a_document_carries_its_answer_and_an_explanation_says_why() -> None:
    generator = random_generator(SUBWORDS)
    generator.language = "en"
    document = generator.document(0, "Это моя книга.", Steering(), generator.defaults)
    assert document.requests == []
    assert generator.document_outputs(document, Steering()) == document.answer
    explanation = explain(generator, "Это моя книга.")
    assert explanation.outputs == tuple(document.answer)
    page = explanation.to_html()
    assert "Note: returned unchanged: the model reads English, and this text is in another script." in page
    assert "книга" in page
