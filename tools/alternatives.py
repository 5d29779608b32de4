"""Training pairs: paraphrases of plain sentences by a seq2seq model, each with another beginning, filtered.

    python tools/alternatives.py MODEL sentences.txt pairs.tsv --lm FOLDER --words clean.txt

A beam of a paraphraser is full of near-copies.  Here each of the likeliest first pieces begins a text that the model
completes, so that structures differ ("During the disaster no one was harmed.").  A text stays if `backtranslate`'s
filters let it pass, its MiniLM vector is near, the model can write the source from it nearly as well as from the
others, and an English language model finds it about as likely as the source: that drops what is ungrammatical.
`paraphrase-en` learnt from such pairs; the thresholds were chosen by reading.

MODEL is trained with `architecture=seq2seq copy=false`; the language model is a Hugging Face folder (SmolLM2-135M was
used).  Needs the extras `backtranslate` and `train`.  Killed, it goes on after the last block of sentences.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from syntagma.corpus.backtranslation.filters import FILTERS, Limits, PairToJudge, WordCounts, first_reason
from syntagma.files import atomic_write
from syntagma.metrics.similarity import SentenceEncoder
from syntagma.network.convert.ctranslate2 import to_ctranslate2
from syntagma.network.storage import from_pretrained

BLOCK = 256
BEGINNINGS = 7
"""First pieces that are tried, each of a probability of 0.004 at least."""
LEAST_COSINE = 0.92
LEAST_SCORE = -0.47
"""The mean log-probability of a text's pieces after the first."""
WORST_BACK, WORST_PIECE = 0.5, 4.2
"""How much less likely than from the best text the source may be: the mean of its pieces, and its worst piece."""
LEAST_NEW = 0.1
"""The share of pairs of neighbouring words that the source does not have."""
LEAST_FLUENCY = -7.5
"""By how much, in nats, a text may be less likely than the source to the language model."""
SLIGHT = 3
"""Texts that keep the beginning and change so few words are left out."""
TEXTS = 2
"""Texts kept of a source, with different first words."""
EMPTY_OPENINGS = re.compile(
    r"(At the same time|On the contrary|On the other hand|In fact|In addition|Despite|Besides|While|When|As |If not)\b"
)
"""Beginnings that a model likes to add to a sentence that does not have them."""
JUDGED_HERE = ("similarity", "overlap")


@dataclass(frozen=True)
class Candidate:
    """A text for a source, with the log-probabilities that judge it."""

    source: str
    text: str
    opening: float
    score: float
    cosine: float
    back: float
    worst: float

    @property
    def new_pairs(self) -> float:
        """The share of pairs of neighbouring words that the source does not have."""
        pairs = word_pairs(self.text)
        return len(pairs - word_pairs(self.source)) / len(pairs)

    @property
    def value(self) -> float:
        """Likely, faithful and different."""
        length = len(words(self.text))
        likely = (self.opening + self.score * (length + 1)) / (length + 2)
        return likely + 0.5 * self.back + min(self.new_pairs, 0.7)


def words(text: str) -> list[str]:
    """The words in lower case."""
    return re.findall(r"[\w']+", text.lower())


def word_pairs(text: str) -> set[tuple[str, str]]:
    """Pairs of neighbouring words, with the text's ends."""
    inside = words(text)
    return set(zip(["", *inside], [*inside, ""], strict=True))


def is_slight(source: str, text: str) -> bool:
    """Whether a text begins alike and changes hardly a word."""
    before, after = words(source), words(text)
    changed = len(before) + len(after) - 2 * sum(min(before.count(word), after.count(word)) for word in set(before))
    return changed <= SLIGHT and not (before[0] != after[0] and after[0] in before[2:])


class Teacher:
    """A sequence-to-sequence model in CTranslate2."""

    def __init__(self, model: str, folder: Path) -> None:
        import ctranslate2

        pretrained = from_pretrained(model)
        to_ctranslate2(pretrained.network, folder / "model", "int8")
        self._translator = ctranslate2.Translator(str(folder / "model"), inter_threads=1, intra_threads=1)
        self._vocabulary, self._end = pretrained.subwords, str(pretrained.config.end)

    def _pieces(self, text: str) -> list[str]:
        return [str(index) for index in self._vocabulary.encode(text)]

    def alternatives(self, sources: Sequence[str]) -> list[list[tuple[str, float, float]]]:
        """Texts for each source, with the log-probability of the first piece and the mean of the others."""
        rows = [[*self._pieces(source), self._end] for source in sources]
        settings: dict[str, Any] = {"max_batch_size": 1500, "batch_type": "tokens", "return_scores": True}
        openings = self._translator.translate_batch(
            rows, beam_size=1, num_hypotheses=BEGINNINGS, return_alternatives=True,
            min_alternative_expansion_prob=0.004, max_decoding_length=1, **settings,
        )  # fmt: skip
        begun = [
            (number, pieces[0], score)
            for number, result in enumerate(openings)
            for pieces, score in zip(result.hypotheses, result.scores, strict=True)
            if pieces
        ]
        completed = self._translator.translate_batch(
            [rows[number] for number, _, _ in begun], target_prefix=[[piece] for _, piece, _ in begun],
            beam_size=2, num_hypotheses=2, max_decoding_length=70, **settings,
        )  # fmt: skip
        texts: list[dict[str, tuple[float, float]]] = [{} for _ in sources]
        for (number, _, opening), result in zip(begun, completed, strict=True):
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                texts[number].setdefault(self._vocabulary.decode([int(piece) for piece in pieces]), (opening, score))
        return [[(text, *scores) for text, scores in found.items()] for found in texts]

    def back(self, texts: Sequence[str], sources: Sequence[str]) -> list[tuple[float, float]]:
        """How likely each source is from its text: the mean of its pieces, and the worst."""
        results = self._translator.score_batch(
            [[*self._pieces(text), self._end] for text in texts],
            [self._pieces(source) for source in sources],
            max_batch_size=2048,
            batch_type="tokens",
        )
        return [(sum(row.log_probs) / len(row.log_probs), min(row.log_probs)) for row in results]


class Fluency:
    """The log-probability that a language model gives a text."""

    def __init__(self, folder: str) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        gguf = next(Path(folder).glob("*.gguf"), None)
        where = {} if gguf is None else {"gguf_file": gguf.name}
        self._tokenizer = AutoTokenizer.from_pretrained(folder, **where)
        self._model = AutoModelForCausalLM.from_pretrained(folder, **where).eval().to(torch.bfloat16)

    def __call__(self, texts: Iterable[str]) -> dict[str, float]:
        """The log-probability of each text as a line."""
        ordered = sorted(set(texts), key=len)
        scores: dict[str, float] = {}
        start = self._tokenizer.bos_token_id or self._tokenizer.eos_token_id
        for first in range(0, len(ordered), 48):
            block = ordered[first : first + 48]
            rows = [[start, *self._tokenizer(f"{text}\n", add_special_tokens=False)["input_ids"]] for text in block]
            longest = max(map(len, rows))
            ids = torch.tensor([row + [start] * (longest - len(row)) for row in rows])
            mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
            with torch.inference_mode():
                logits = self._model(input_ids=ids, attention_mask=mask).logits[:, :-1].float().log_softmax(-1)
            chosen = logits.gather(2, ids[:, 1:, None])[..., 0] * mask[:, 1:]
            scores |= dict(zip(block, chosen.sum(1).tolist(), strict=True))
        return scores


def candidates(
    sources: Sequence[str], teacher: Teacher, encoder: SentenceEncoder, limits: Limits
) -> list[list[Candidate]]:
    """All texts that the filters let pass, for each source."""
    names = [name for name in FILTERS if name not in JUDGED_HERE]
    passed = [
        (number, text, opening, score)
        for number, texts in enumerate(teacher.alternatives(sources))
        for text, opening, score in texts
        if first_reason(PairToJudge(sources[number], text), limits, names) is None
    ]
    result: list[list[Candidate]] = [[] for _ in sources]
    if not passed:
        return result
    texts, origins = [text for _, text, _, _ in passed], [sources[number] for number, _, _, _ in passed]
    cosines = [
        float(text @ origin) for text, origin in zip(encoder.encode(texts), encoder.encode(origins), strict=True)
    ]
    backs = teacher.back(texts, origins)
    for (number, text, opening, score), cosine, (back, worst) in zip(passed, cosines, backs, strict=True):
        result[number].append(Candidate(sources[number], text, opening, score, cosine, back, worst))
    return result


def chosen(texts: list[Candidate], fluency: dict[str, float]) -> list[Candidate]:
    """The best texts of a source, with different first words."""
    if not texts:
        return []
    best, best_piece = max(text.back for text in texts), max(text.worst for text in texts)
    good = [
        text
        for text in texts
        if text.text[0].isupper()
        and text.cosine >= LEAST_COSINE
        and text.score >= LEAST_SCORE
        and text.back >= best - WORST_BACK
        and text.worst >= best_piece - WORST_PIECE
        and text.new_pairs >= LEAST_NEW
        and not is_slight(text.source, text.text)
        and (EMPTY_OPENINGS.match(text.source) or not EMPTY_OPENINGS.match(text.text))
        and fluency[text.text] - fluency[text.source] >= LEAST_FLUENCY
    ]
    kept: dict[str, Candidate] = {}
    for text in sorted(good, key=lambda text: -text.value):
        kept.setdefault(words(text.text)[0], text)
    return list(kept.values())[:TEXTS]


def main() -> None:
    """Write the pairs of all sentences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--lm", required=True, help="folder of a causal language model")
    parser.add_argument("--words", type=Path, nargs="*", default=[], help="more English text, for the words it knows")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    counts = WordCounts()
    for path in (arguments.sentences, *arguments.words):
        for line in path.read_text(encoding="utf-8").splitlines():
            counts.add(line)
    limits = Limits(known=counts.known(2), max_ratio=1.8)
    log = arguments.pairs.with_suffix(".done")
    done, size = map(int, log.read_text().split()) if log.exists() else (0, 0)
    with open(arguments.pairs, "ab") as begun:  # what a killed run wrote of a block is written again
        begun.truncate(size)
    fluency, encoder = Fluency(arguments.lm), SentenceEncoder.load()
    with tempfile.TemporaryDirectory() as folder, open(arguments.sentences, encoding="utf-8") as lines:
        teacher = Teacher(arguments.model, Path(folder))
        remaining = islice((line.strip() for line in lines), done, None)
        while block := list(islice(remaining, BLOCK)):
            found = candidates(block, teacher, encoder, limits)
            likely = fluency([*block, *(text.text for texts in found for text in texts)])
            with open(arguments.pairs, "a", encoding="utf-8") as stream:
                for texts in found:
                    stream.writelines(f"{text.source}\t{text.text}\n" for text in chosen(texts, likely))
            done += len(block)
            with atomic_write(log) as stream:
                stream.write(f"{done} {arguments.pairs.stat().st_size}")
            print(f"{done} sentences", flush=True)


if __name__ == "__main__":
    main()
