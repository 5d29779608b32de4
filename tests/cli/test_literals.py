"""Names, numbers and addresses come out of the bundled paraphraser to the letter, in a hundred sentences."""

from __future__ import annotations

import pytest

from syntagma import Generator
from syntagma.errors import SyntagmaError

NAMES = ["Zoë Müller", "Nguyen", "O'Brien", "Kowalczyk", "Łódź"]
NUMBERS = ["3,512", "1987", "12.5", "48", "0.07"]
CODES = ["RFC-2616", "A380", "iPhone", "B12", "COVID-19"]
ADDRESSES = [
    "http://example.org/a?b=1",
    "sales@example.com",
    "www.example.net",
    "https://example.com/docs/v2.1",
    "jane.doe@mail.example.org",
]
PATTERNS = [
    ("I met {} in the office yesterday.", NAMES),
    ("The letter from {} arrived this morning.", NAMES),
    ("Have you ever been to {} before?", NAMES),
    ("My sister works with {} and likes it.", NAMES),
    ("Nobody knew where {} was hiding.", NAMES),
    ("She told {} that she would be late.", NAMES),
    ("The company sold {} cars last month.", NUMBERS),
    ("They paid {} euros for the tickets.", NUMBERS),
    ("The village has {} inhabitants.", NUMBERS),
    ("It took us {} minutes to get there.", NUMBERS),
    ("Prices fell by {} percent in May.", NUMBERS),
    ("Only {} of the answers were right.", NUMBERS),
    ("We need to order {} as soon as possible.", CODES),
    ("He wrote a long article about {} last year.", CODES),
    ("The manual does not mention {} at all.", CODES),
    ("You can find more information about it at {} if you like.", ADDRESSES),
    ("Please send your application to {} by Friday.", ADDRESSES),
    ("The form can be downloaded from {} at any time.", ADDRESSES),
    ("If you have a question, write to {} and wait.", ADDRESSES),
    ("Our new address is {} from today.", ADDRESSES),
]
SENTENCES = [(pattern.format(filler), filler) for pattern, fillers in PATTERNS for filler in fillers]


@pytest.mark.slow
def test_literals_are_kept() -> None:
    generator = Generator.from_pretrained("paraphrase-en", threads=1)
    options = generator.defaults.for_texts(1, {"beam": 2})
    outputs = list(generator.stream([sentence for sentence, _ in SENTENCES], options=options))
    assert len(outputs) == 100
    lost = []
    for (sentence, literal), found in zip(SENTENCES, outputs, strict=True):
        assert not isinstance(found, SyntagmaError), sentence
        if any(part not in found[0].text for part in literal.split()):
            lost.append((sentence, found[0].text))
    assert lost == []
