"""How much memory a corpus of so many pairs takes: prepare, distil and train on synthetic pairs, a process each.

    python tools/scale.py prepare 30000 --out scale     # pairs with given trees, so nothing is parsed
    python tools/scale.py distil 5000 --out scale       # a tiny teacher, beam 1
    python tools/scale.py train 30000 --out scale --accumulate 64
    python tools/scale.py backbone 30000 --out scale    # ids of another vocabulary
    python tools/scale.py train 50500 --out scale --repeat 100    # the same shard a hundred times: five million pairs

Each prints one JSON line: pairs, CPU seconds, the most memory that the process held (MB; children apart), and how much
of it was its own: the rest are pages of mapped files, which the system takes back where it needs them.  A step uses the
corpus that is in the folder, and makes it where it is not there.  Of a repeated corpus the teacher writes 200 sources.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

WORDS = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "en", "or", "ul", "ist")]


def write_pairs(pairs: int, folder: Path) -> None:
    """Sentences of 8 to 24 made-up words with trees of a few levels."""
    draw = random.Random(1)
    with open(folder / "pairs.tsv", "w") as texts, open(folder / "trees.txt", "w") as trees:
        for _ in range(pairs):
            words = draw.choices(WORDS, k=draw.randint(8, 24))
            cut = draw.randint(2, 4)
            inner = draw.randint(cut + 2, len(words) - 1)
            subject, verb, rest = words[:cut], words[cut:inner], words[inner:]
            source = " ".join(reversed(words))
            texts.write(f"{source}\t{' '.join(words)}\n")
            leaves = [" ".join(f"(X {word})" for word in part) for part in (subject, verb, rest)]
            trees.write(f"(TOP (S (NP {leaves[0]}) (VP {leaves[1]} (PP {leaves[2]}))))\n")


def prepare(pairs: int, folder: Path) -> None:
    """The corpus; 500 pairs are dev."""
    from syntagma.corpus import CorpusOptions
    from syntagma.corpus import prepare as make
    from syntagma.corpus.options import Input

    write_pairs(pairs, folder)
    inputs = (Input(str(folder / "pairs.tsv")),)
    options = CorpusOptions(
        inputs=inputs, parser=f"brackets:{folder / 'trees.txt'}", vocab_size=1000, vocab_sample=5000, dev=500
    )
    make(options, folder / "corpus", workers=1)


def repeated(folder: Path, times: int) -> Path:
    """The corpus with its training shards so many times, as links: as many pairs as there are of real corpora."""
    if times == 1:
        return folder / "corpus"
    made = folder / f"corpus-{times}"
    if (made / "corpus.json").exists():
        return made
    made.mkdir(exist_ok=True)
    facts = json.loads((folder / "corpus" / "corpus.json").read_text())
    for path in (folder / "corpus").iterdir():
        if path.name != "corpus.json" and "-train-" not in path.name:
            link(path, made / path.name)
    train: dict[str, Any] = facts["splits"]["train"]
    shards = len(train["shards"])
    for number in range(times * shards):
        for kind, ending in (("pairs", "parquet"), ("ids", "arrow")):
            name = f"{kind}-train-{number % shards:05d}.{ending}"
            link(folder / "corpus" / name, made / f"{kind}-train-{number:05d}.{ending}")
    train["shards"] *= times
    train["pairs"] *= times
    (made / "corpus.json").write_text(json.dumps(facts))
    return made


def link(file: Path, name: Path) -> None:
    """A second name of a file."""
    name.unlink(missing_ok=True)
    name.hardlink_to(file)


def distil(folder: Path, data: Path, times: int) -> None:
    """A teacher of chance writes every source anew; preparing what it writes is measured by itself."""
    from syntagma.corpus import Corpus
    from syntagma.network.config import preset
    from syntagma.network.network import Network
    from syntagma.network.storage import save_pretrained
    from syntagma.train import distillation

    corpus = Corpus.open(data)
    subwords = corpus.subwords
    labels = tuple(subwords.label_id(name) for name in ("T", *subwords.labels))
    config = preset("tiny", subwords.size, "seq2seq", labels=labels)
    about = {"search": {"beam": 1, "max_tokens": 4}}
    save_pretrained(folder / "teacher", Network(config), subwords, "# A teacher of chance\n", about=about)
    distillation.prepare = lambda *arguments, **named: corpus  # type: ignore[attr-defined]
    teacher = distillation.Teacher.load(str(folder / "teacher"))
    limit = None if times == 1 else 200
    distillation.distill(teacher, corpus, folder / f"distilled-{times}", limit=limit, workers=1)


def train(folder: Path, data: Path, times: int, accumulate: int) -> None:
    """Two steps of `accumulate` batches of 8,000 tokens."""
    from syntagma.train.config import TrainConfig
    from syntagma.train.run import train as run

    settings = {
        "data": str(data), "preset": "tiny", "steps": 2, "batch_tokens": 8000, "accumulate": accumulate,
        "validate_every": 2, "threads": 1,
    }  # fmt: skip
    run(TrainConfig.from_dict(settings), folder / f"run-{times}-{accumulate}", quiet=True)


def backbone(folder: Path, data: Path, times: int) -> None:
    """The corpus in the ids of another vocabulary, as a backbone reads it."""
    from syntagma.corpus import Corpus
    from syntagma.train.tokenised import Tokenised

    corpus = Corpus.open(data)
    ids = Tokenised.of(corpus.split("train"), corpus.subwords, folder / f"ids-{times}")
    ids.lengths()


class OwnMemory(threading.Thread):
    """Watches how much memory of its own, in MB, this process holds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0

    def run(self) -> None:
        """Look many times a second."""
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            held = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))
            self.most = max(self.most, held)
            time.sleep(0.02)


def main() -> None:
    """Measure one step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("prepare", "distil", "train", "backbone"))
    parser.add_argument("pairs", type=int)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    folder = given.out / str(given.pairs)
    folder.mkdir(parents=True, exist_ok=True)
    if given.step != "prepare" and not (folder / "corpus" / "corpus.json").exists():
        command = [sys.executable, __file__, "prepare", str(given.pairs), "--out", str(given.out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    data = repeated(folder, given.repeat) if given.step != "prepare" else folder / "corpus"
    watch = OwnMemory()
    watch.start()
    start = time.process_time()
    if given.step == "prepare":
        prepare(given.pairs, folder)
    elif given.step == "train":
        train(folder, data, given.repeat, given.accumulate)
    else:
        {"distil": distil, "backbone": backbone}[given.step](folder, data, given.repeat)
    found = {
        "step": given.step,
        "pairs": given.pairs * given.repeat,
        "cpu_seconds": round(time.process_time() - start, 1),
        "mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "own_mb": round(watch.most),
    }
    print(json.dumps(found | ({"accumulate": given.accumulate} if given.step == "train" else {})))


if __name__ == "__main__":
    main()
