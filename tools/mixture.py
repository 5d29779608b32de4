"""Pairs to train a paraphraser on: written ones of other structure, with a share of found ones and of lower case.

    python tools/mixture.py --out mix.tsv [--pivot train.tsv.gz] [--paranmt pairs.tsv.gz] [--lower 0.08]

Of the five lines of a written set any may be the source of any other that shares half of its content words; the last
and freest paraphrase is never a target, nor is the third of a short sentence.  Found pairs are those of `--pivot` whose
origin is among `--origins` (by default those of free licences), the machine's English as the source and the human's as
the target.  Those of `--paranmt`, in lower case, serve both ways.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

FREE_ORIGINS = ["tatoeba", "3am"]
_SHORT = 9
"""Words of a sentence whose third paraphrase is mostly stiff."""
_STOP = """
a an the of to in on at by for with from as and or but if so than that this these those there here it its is
are was were be been being am do does did done have has had having will would can could may might shall should
must not no n't 's i you he she we they me him her us them my your his our their mine who whom whose which
what when where why how all any some each every both very too just only also even up out into over about after
before because while since until though although whether
"""
STOP = frozenset(_STOP.split())


def main() -> None:
    """Write the mixture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs="+", default=[Path("data/paraphrases/train.tsv.gz")])
    parser.add_argument("--pivot", type=Path)
    parser.add_argument("--origins", nargs="+", default=FREE_ORIGINS, help="what the origins begin with")
    parser.add_argument("--paranmt", type=Path)
    parser.add_argument("--lower", type=float, default=0.08, help="share of the pairs in lower case, words apart")
    parser.add_argument("--overlap", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    pairs = [pair for file in options.written for pair in written(file, options.overlap)]
    if options.pivot:
        pairs += list(found(options.pivot, tuple(options.origins)))
    if options.lower:
        pairs = [tuple(map(apart, pair)) if chance.random() < options.lower else pair for pair in pairs]
    if options.paranmt:
        near = [(one, other) for one, other in rows(options.paranmt) if share(one, other) >= 0.35]
        pairs += near + [(other, one) for one, other in near]
    pairs = sorted(set(pairs))
    chance.shuffle(pairs)
    options.out.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    print(f"{len(pairs):,} pairs in {options.out}")


def rows(file: Path) -> Iterator[list[str]]:
    """The columns of each line."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


def written(file: Path, overlap: float) -> Iterator[tuple[str, str]]:
    """Pairs of the lines of each written set."""
    sets: dict[str, list[str]] = {}
    for sentence, paraphrase, _, _ in rows(file):
        sets.setdefault(sentence, []).append(paraphrase)
    for sentence, paraphrases in sets.items():
        lines = [sentence, *paraphrases]
        for source, target in permutations(range(len(lines)), 2):
            natural = target < 3 or (target == 3 and len(lines[target].split()) >= _SHORT)
            if natural and share(lines[source], lines[target]) >= overlap:
                yield lines[source], lines[target]


def found(file: Path, origins: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Found pairs that are faithful and not nearly copies."""
    for human, machine, origin, cosine, jaccard in rows(file):
        if origin.startswith(origins) and float(cosine) >= 0.9 and float(jaccard) <= 0.6:
            yield machine, human


def share(one: str, other: str) -> float:
    """Of the content words of two sentences, the share that both have (Dice, words cut to five letters)."""
    first, second = content(one), content(other)
    return 2 * len(first & second) / max(len(first) + len(second), 1)


def content(sentence: str) -> frozenset[str]:
    """Content words, cut to five letters."""
    return frozenset(word[:5] for word in re.findall(r"[a-z0-9]+|n't|'s", sentence.lower()) if word not in STOP)


def apart(sentence: str) -> str:
    """Lower case, with signs apart as in Penn Treebank and ParaNMT."""
    text = re.sub(r"n't\b", " n't", sentence.lower())
    text = re.sub(r"'(s|re|ve|ll|d|m)\b", r" '\1", text)
    return " ".join(re.sub(r"([.,!?;:\"()])", r" \1 ", text).split())


if __name__ == "__main__":
    main()
