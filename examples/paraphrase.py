"""Five paraphrases with their scores and trees, and how the best one grew."""

import sys

from syntagma import Generator

text = " ".join(sys.argv[1:]) or "He hasn't answered my letter yet."
generator = Generator.from_pretrained("paraphrase-en")
outputs = generator(text, nbest=5)

for output in outputs:
    print(f"{output.score:7.3f}  {output.text}")
    print(f"         {output.tree}")

print("\nhow the best one grew:")
for context in outputs[0].levels:
    print("  ", context)
