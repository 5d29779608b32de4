"""Many texts in one batch, each steered for itself; what cannot be done is an error beside the others' outputs."""

from syntagma import Generator, SyntagmaError
from syntagma.search.steered import SteeredText

TEXTS = [
    "I don't know anything about physics.",
    SteeredText("I don't know anything about physics.", must=("nothing",)),
    SteeredText("I don't know anything about physics.", start="<NP> <VP> , do I ?"),
    SteeredText("I don't know anything about physics.", template="(S (NP", control="hard"),
    "Tom is no longer my boyfriend. I am glad about that.",
]
generator = Generator.from_pretrained("paraphrase-en")
for outputs in generator.stream(TEXTS):
    if isinstance(outputs, SyntagmaError):
        print("not done:", outputs)
    else:
        print(outputs[0].text)
