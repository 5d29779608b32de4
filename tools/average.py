"""The mean of the weights of runs that began alike, as a model folder.

    python tools/average.py --model paraphrase-en --out mean RUN/checkpoints/step-*/weights.safetensors ...

Runs on different cores that see different pairs are averaged from time to time, where no process may talk to another.
`--model` is a model of the same shape: what is in its folder but the weights is taken over.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from syntagma.files import atomic_folder
from syntagma.network.storage import from_pretrained, save_pretrained
from syntagma.train.average import average


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("weights", type=Path, nargs="+")
    options = parser.parse_args()
    model = from_pretrained(options.model)
    model.network.load_state_dict(average(options.weights))
    with atomic_folder(options.out) as folder:
        save_pretrained(
            folder, model.network, model.subwords, f"The mean of {len(options.weights)}.", about=model.about
        )


if __name__ == "__main__":
    main()
