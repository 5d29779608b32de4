"""Greedy outputs against a beam of five: metrics, 95% intervals, and whether the difference is beyond chance."""

from syntagma import Generator
from syntagma.metrics import Bleu, DLex, Segment, evaluate

PAIRS = [
    ("I have nothing to be afraid of.", "There is nothing for me to fear."),
    ("Tom is no longer my boyfriend.", "Tom isn't my boyfriend anymore."),
    ("I don't know anything about physics.", "I know nothing about physics."),
    ("Someone is knocking on the door.", "There's somebody at the door."),
    ("I want to hear more about this.", "I'd like to know more about it."),
    ("You should have come yesterday.", "You were supposed to come yesterday."),
]
generator = Generator.from_pretrained("paraphrase-en")
rows = []
for source, reference in PAIRS:
    greedy, beam = (generator(source, beam=width)[0].text for width in (1, 5))
    rows.append((Segment(beam, (reference,), source), Segment(greedy, (reference,), source)))
    print(f"{source}\n    beam 1: {greedy}\n    beam 5: {beam}")

metrics = [Bleu(tokenize="13a"), DLex()]
ours, baseline = evaluate(metrics, rows)
for comparison in ours.compare(baseline, resamples=1000):
    print(f"{comparison.name}: {comparison.value:.1f}, greedy {comparison.baseline:.1f}, p = {comparison.p:.2f}")
