"""The same sentence steered in five ways."""

from syntagma import Generator

TEXT = "It seems like he has made a mistake."
generator = Generator.from_pretrained("paraphrase-en")

ways = {
    "as it likes": {},
    "the shape (S (NP) (VP *) ...), guaranteed": {"template": "(S (NP) (VP *) ...)", "control": "hard"},
    "the shape of 'Did he really do it?', favoured": {"exemplar": "Did he really do it?"},
    "grown from '<NP> <VP> , right ?'": {"start": "<NP> <VP> , right ?"},
    "with 'looks', without 'seems'": {"must": ["looks"], "must_not": ["seems"]},
}
for name, steering in ways.items():
    best = generator(TEXT, **steering)[0]
    print(f"{name}:\n    {best.text}\n    {best.tree}")
