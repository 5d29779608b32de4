"""`make demo`: five paraphrases of a sentence, their trees, and the levels of the first one."""

from __future__ import annotations

import sys

from syntagma.cli.common import colour, columns
from syntagma.search import Generator
from syntagma.search.show import draw_trace
from syntagma.tree import draw

SENTENCE = "Because of the strike, hundreds of flights were cancelled on Monday."


def main(sentence: str = SENTENCE) -> None:
    """Show the paraphrases of one sentence."""
    generator = Generator.from_pretrained("paraphrase-en")
    outputs = generator(sentence, nbest=5)
    print(f"{sentence}\n")
    for number, output in enumerate(outputs, 1):
        print(f"{number}. {output.text}")
    for number, output in enumerate(outputs, 1):
        if output.tree is not None:
            print(f"\nThe tree of {number}:\n\n{draw(output.tree, columns(), colour())}")
    print("\nThe levels of the first one, from <T> down:\n")
    print(draw_trace(outputs[0], colour()))
    print('\nYour own: .venv/bin/syntagma paraphrase --nbest 5 --trace "..."')


if __name__ == "__main__":
    main(*sys.argv[1:2])
