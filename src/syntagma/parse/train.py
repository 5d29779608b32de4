"""Training the neural parser from folders of trees.

A run lives in its output folder (see `syntagma.runs.folder`), with the model folder `model` in it, which is written
whenever the dev figure is the best so far.  Every random choice is a function of the seed, the epoch and the step, so
a resumed run of so many epochs makes the same weights as one that was never stopped.  A run of so many minutes lets the
clock drive the learning rate instead.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from syntagma.errors import ConfigError, Place
from syntagma.files import atomic_write, locked
from syntagma.hub import WEIGHTS, find_folder
from syntagma.parse import weights
from syntagma.parse.base import is_neural
from syntagma.parse.card import model_card
from syntagma.parse.chart import span_number
from syntagma.parse.encoder import load_bert
from syntagma.parse.ensemble import load_trainable
from syntagma.parse.loss import IGNORED, margin_loss, span_loss, tag_loss, teacher_loss
from syntagma.parse.network import ParserBatch, ParserNetwork, collate
from syntagma.parse.neural import batches_by_length
from syntagma.parse.pieces import Pieces
from syntagma.parse.score import score_trees
from syntagma.parse.settings import ParserTrainConfig, Trees, encoder_folder
from syntagma.parse.shape import EncoderConfig, NetworkConfig, ParserConfig
from syntagma.parse.trainable import TrainableParser
from syntagma.parse.treebank import TreebankExample, backoff, inventory
from syntagma.parse.variants import Constituents, vary
from syntagma.runs.checkpoint import (
    Checkpoint,
    load_checkpoint,
    optimizer_tensors,
    restore_optimizer,
    save_checkpoint,
)
from syntagma.runs.folder import CHECKPOINTS, RunResult, claim
from syntagma.runs.log import Display, Log
from syntagma.runs.schedule import decay
from syntagma.runs.signals import Signals
from syntagma.tree import KEPT_LABELS

LOG_EVERY = 50
"""Steps."""
_AVERAGE = "average/"
"""Before the names of averaged weights in a checkpoint."""


@dataclass(slots=True)
class ParserRunState:
    """Where a run is: all that is not a tensor."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    batches: int = 1  # that this epoch has
    share: float = 1.0  # of the silver trees in this epoch
    seconds: float = 0.0
    best: dict[str, float] = field(default_factory=dict)  # the best figures on the dev trees


class ParserTrainer:
    """One run."""

    def __init__(self, config: ParserTrainConfig, data: Trees, out: str | Path, quiet: bool = False) -> None:
        self.config = config
        self.data = data
        self.out = Path(out)
        self.model_folder = self.out / "model"
        self.display = Display(quiet)
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        folder = encoder_folder(config.encoder)
        self.pieces = Pieces.load(folder / "tokenizer.json")
        pretrained = load_bert(folder, config.dropout)
        start = find_folder(config.init, "parser", "network") if config.init else None
        teacher = _load_teacher(config.teacher) if config.teacher else None
        self.model_config = self._model_config(pretrained.config)
        if start is not None:
            start_config = ParserConfig.load(start / "config.json")
            self._name_labels_as(start_config, str(start), "--init")
        if teacher is not None:
            self._name_labels_as(teacher.config, config.teacher, "--teacher")
        self.network = ParserNetwork(
            pretrained.config, self.model_config.network, dropout=config.dropout, head_dropout=config.head_dropout
        )
        self.network.encoder.load_state_dict(pretrained.state_dict())
        if start is not None:
            weights.load(self.network, start / WEIGHTS, start_config.weights_sha256)
        self.teacher = teacher.network.requires_grad_(False) if teacher is not None else None
        self.network.encoder.pieces.requires_grad_(False)
        self.network.encoder.positions.requires_grad_(False)
        self.label_ids = {label: number for number, label in enumerate(self.model_config.labels)}
        self.tag_ids = {tag: number for number, tag in enumerate(self.model_config.tags)}
        self.learnt = {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}
        self.optimizer = torch.optim.AdamW(self._groups(), weight_decay=config.weight_decay, betas=(0.9, 0.98))
        self.average = {name: weight.detach().clone() for name, weight in self.learnt.items()}
        self.progress = ParserRunState(share=config.silver_from)
        self.others = Constituents.of(data.gold) if config.variants.swapped else None

    def _model_config(self, encoder: EncoderConfig) -> ParserConfig:
        examples = [*self.data.gold, *self.data.silver]
        labels, tags = inventory(examples)
        open_root = any((0, len(example.words)) not in example.spans for example in examples)
        network = NetworkConfig(
            labels=len(labels), tags=len(tags), span_width=self.config.span_width, word_layers=self.config.word_layers
        )
        return ParserConfig(
            self.config.name,
            self.config.version,
            encoder,
            network,
            tuple(labels),
            tuple(tags),
            open_root=open_root,
            language=self.config.language,
        )

    def _name_labels_as(self, config: ParserConfig, where: str, option: str) -> None:
        """Number labels and tags as that parser does, which must know all that the trees have."""
        own = self.model_config
        unknown = sorted({*own.labels, *own.tags} - {*config.labels, *config.tags})
        if unknown:
            remedy = f"give one that was trained on such trees, or leave {option} out"
            raise ConfigError(f"this parser does not know {', '.join(unknown)}", Place(where), remedy)
        network = replace(own.network, labels=len(config.labels), tags=len(config.tags))
        named = replace(own, network=network, labels=config.labels, tags=config.tags)
        if self.config.init and self.config.teacher and option == "--teacher" and named != own:
            remedy = "give parsers that were trained on the same trees"
            raise ConfigError(f"its labels or tags are not those of {self.config.init}", Place(where), remedy)
        self.model_config = named

    def _groups(self) -> list[dict[str, Any]]:
        """The weights by learning rate: the encoder's layers from the top down, then the rest."""
        config = self.config
        layers = self.model_config.encoder.layers
        groups: dict[float, list[Tensor]] = {}
        for name, weight in self.learnt.items():
            rate = config.head_rate
            if name.startswith("encoder.layers."):
                rate = config.encoder_rate * config.layer_decay ** (layers - 1 - int(name.split(".")[2]))
            elif name.startswith("encoder.norm"):
                rate = config.encoder_rate * config.layer_decay**layers
            groups.setdefault(rate, []).append(weight)
        return [{"params": members, "lr": rate, "rate": rate} for rate, members in groups.items()]

    # -- the loop

    def run(self) -> RunResult:
        """Train to the end or a signal, from the checkpoint if there is one; the best figures on the dev trees."""
        with locked(self.out):
            claim(self.out, self.config)
            self._resume()
            with self.display, Signals(self.display.quiet) as signals:
                self._train(signals)
                if signals.received is None:
                    self._score()
                self._save()
            return RunResult(self.progress.step, self.progress.seconds, self.progress.best, signals.received)

    def _train(self, signals: Signals) -> None:
        saved = logged = clock = time.monotonic()
        words, losses = 0, torch.zeros(3)
        while self._done() < 1.0:
            for batch, gold, tags in self._epoch():
                losses += self._step(batch, gold, tags)
                words += sum(batch.lengths)
                now = time.monotonic()
                self.progress.seconds += now - clock
                clock = now
                if self.progress.step % LOG_EVERY == 0:
                    self._log_losses(losses / words, words / (now - logged))
                    words, losses, logged = 0, torch.zeros(3), now
                if signals.received is not None or self._done() >= 1.0:
                    return
                if self.progress.step % self.config.score_every == 0:
                    self._score()
                    logged = clock = time.monotonic()
                if now - saved > 60 * self.config.save_every:
                    self._save()
                    saved = clock = time.monotonic()
            self._next_epoch()

    def _done(self) -> float:
        """How much of the run is over, 0 to 1."""
        if self.config.minutes:
            return self.progress.seconds / (60 * self.config.minutes)
        return (self.progress.epoch + self.progress.batch / self.progress.batches) / self.config.epochs

    def _next_epoch(self) -> None:
        self.progress.epoch += 1
        self.progress.batch, self.progress.batches = 0, 1
        done = min(self._done(), 1.0)
        self.progress.share = self.config.silver_from + (self.config.silver_to - self.config.silver_from) * done

    def _epoch(self) -> Iterator[tuple[ParserBatch, Tensor, Tensor]]:
        """The batches of the epoch that are still to come: a function of the seed, the epoch and the silver share."""
        chance = random.Random(f"{self.config.seed}/{self.progress.epoch}")
        silver = chance.sample(self.data.silver, round(self.progress.share * len(self.data.silver)))
        shown = [vary(example, self.config.variants, chance, self.others) for example in [*self.data.gold, *silver]]
        chance.shuffle(shown)
        longest = self.model_config.longest
        limit = self.model_config.encoder.positions
        encoded = [self.pieces.encode(example.words[:longest], limit) for example in shown]
        numbers = [n for n, example in enumerate(shown) if len(example.words) <= longest]
        lengths = [len(encoded[n].pieces) for n in numbers]
        batches = batches_by_length(lengths, self.config.batch_pieces)
        chance.shuffle(batches)
        self.progress.batches = len(batches)
        while self.progress.batch < len(batches):
            chosen = [numbers[index] for index in batches[self.progress.batch]]
            examples = [shown[n] for n in chosen]
            batch = collate(
                [encoded[n] for n in chosen], self.pieces.pad, [int(example.silver) for example in examples]
            )
            self.progress.batch += 1
            yield batch, *self._targets(examples, max(batch.lengths))

    def _targets(self, examples: list[TreebankExample], size: int) -> tuple[Tensor, Tensor]:
        """Label ids (batch, spans) and tag ids (batch, words), `IGNORED` at padding."""
        spans = torch.full((len(examples), size * (size + 1) // 2), IGNORED)
        tags = torch.full((len(examples), size), IGNORED)
        for row, example in enumerate(examples):
            for start in range(len(example.words)):
                first = span_number(start, start + 1, size)
                spans[row, first : first + len(example.words) - start] = 0
            for (start, end), label in example.spans.items():
                spans[row, span_number(start, end, size)] = self.label_ids[backoff(label, self.label_ids)]
            tags[row, : len(example.words)] = torch.tensor([self.tag_ids.get(tag, IGNORED) for tag in example.tags])
        return spans, tags

    def _step(self, batch: ParserBatch, gold: Tensor, tags: Tensor) -> Tensor:
        """One update; the margin, span and tag losses summed over the batch."""
        config = self.config
        torch.manual_seed(config.seed * 1_000_003 + self.progress.step)  # dropout
        self.network.train()
        scores, tag_scores = self.network(batch)
        margin = margin_loss(scores, gold, batch.lengths, self.model_config.open_root)
        spans = span_loss(scores, gold, config.label_smoothing)
        tagging = tag_loss(tag_scores, tags, config.label_smoothing)
        loss = config.margin_weight * margin + config.span_weight * spans + config.tag_weight * tagging
        if self.teacher is not None:
            with torch.no_grad():
                their_scores, their_tags = self.teacher(batch)
            taught = config.span_weight * teacher_loss(scores, their_scores, gold)
            taught = taught + config.tag_weight * teacher_loss(tag_scores, their_tags, tags)
            loss = loss + config.teacher_weight * taught
        self.optimizer.zero_grad(set_to_none=True)
        (loss / sum(batch.lengths)).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.learnt.values(), config.clip)
        factor = self._rate_factor(min(self._done(), 1.0))
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * factor
        self.optimizer.step()
        self.progress.step += 1
        decay = min(config.average, (1 + self.progress.step) / (10 + self.progress.step))
        with torch.no_grad():
            for name, weight in self.learnt.items():
                self.average[name].lerp_(weight, 1 - decay)
        return torch.stack([margin.detach(), spans.detach(), tagging.detach()])

    def _rate_factor(self, done: float) -> float:
        if done < self.config.warmup:
            return max(done, 1e-4) / self.config.warmup
        return decay("cosine", (done - self.config.warmup) / (1 - self.config.warmup))

    # -- scoring, saving, logging

    def averaged(self) -> TrainableParser:
        """The parser with the averaged weights."""
        network = ParserNetwork(self.model_config.encoder, self.model_config.network)
        network.load_state_dict({**self.network.state_dict(), **self.average})
        return TrainableParser(self.model_config, network, self.pieces)

    def _score(self) -> None:
        parser = self.averaged()
        guesses = parser.parse([tree.words() for tree in self.data.dev])
        score = score_trees(self.data.dev, guesses)
        pruned = score_trees(self.data.dev, guesses, KEPT_LABELS)
        self._log("score", dev=score.figures(), pruned=pruned.figures())
        self.display.say(f"dev after step {self.progress.step:,}: f1 {score.f1:.2f}, pruned {pruned.f1:.2f}")
        if score.f1 > self.progress.best.get("f1", -1.0):
            self.progress.best = score.figures()
            parser.save(self.model_folder, self.config.precision)
            with atomic_write(self.model_folder / "README.md") as stream:
                stream.write(model_card(self.model_config, self.config, self.data, score, pruned))

    def _save(self) -> None:
        weights = {**self.learnt, **{_AVERAGE + name: weight for name, weight in self.average.items()}}
        tensors = optimizer_tensors(self.optimizer, self.learnt)
        save_checkpoint(self.out / CHECKPOINTS, self.progress.step, Checkpoint(weights, tensors, asdict(self.progress)))

    def _resume(self) -> None:
        """Take up the newest whole checkpoint, if there is one."""
        if (self.out / "checkpoint.safetensors").exists():
            what = "this run was begun by an earlier version, whose checkpoints cannot be taken up"
            raise ConfigError(what, Place(str(self.out)), "give another --out, with --init and its model to go on from")
        checkpoint = load_checkpoint(self.out / CHECKPOINTS)
        if checkpoint is not None:
            self.progress = ParserRunState(**checkpoint.state)
            restore_optimizer(self.optimizer, self.learnt, checkpoint.optimizer)
            with torch.no_grad():
                for name, weight in self.learnt.items():
                    weight.copy_(checkpoint.weights[name])
                    self.average[name].copy_(checkpoint.weights[_AVERAGE + name])
            self.display.say(f"going on after step {self.progress.step:,}")
        self.log = Log(self.out, self.progress.step if checkpoint is not None else -1)
        sizes = {"gold": len(self.data.gold), "silver": len(self.data.silver), "dev": len(self.data.dev)}
        self._log("resume" if checkpoint is not None else "start", **sizes, labels=len(self.label_ids))

    def _log_losses(self, losses: Tensor, speed: float) -> None:
        margin, spans, tags = (round(float(loss), 4) for loss in losses)
        self._log("step", margin=margin, span=spans, tag=tags, words_a_second=round(speed))
        done = self._done()
        left = self.progress.seconds * (1 - done) / max(done, 1e-9)
        self.display.show(self.progress.step, None, f"span loss {spans:.3f}, {speed:,.0f} words/s", left)

    def _log(self, event: str, **values: Any) -> None:
        progress = self.progress
        where = {"epoch": progress.epoch, "minutes": round(progress.seconds / 60, 2), "done": round(self._done(), 4)}
        self.log.write(event, progress.step, **values, **where)


def _load_teacher(name: str) -> TrainableParser:
    if not is_neural(name):
        raise ConfigError(f"{name} cannot teach", remedy="give neural parsers to --teacher")
    return load_trainable(name)
