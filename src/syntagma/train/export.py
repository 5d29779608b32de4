"""The end of a run: the average of its best weights as a model folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor

from syntagma import __version__
from syntagma.corpus.store import Corpus
from syntagma.network.network import Network
from syntagma.network.purpose import Purpose
from syntagma.network.storage import save_pretrained
from syntagma.runs.checkpoint import CheckpointError, disk_errors
from syntagma.runs.log import duration
from syntagma.train.average import average
from syntagma.train.trainer import Trainer
from syntagma.train.validate import Validation, validate

_GUESSED_PAIRS = 200
"""Pairs by which a model's languages are guessed."""

_CARD = """# {name}

A text generation model ({architecture}, {size}, {parameters:,} parameters), made with Syntagma {version}.

```python
from syntagma import Generator
Generator.from_pretrained("{name}")("It seems like he has made a mistake.")
```

## Data
`{data}`: {pairs} training pairs, parsed by {parser}, labels {labels}. The licence of the pairs holds for what is
done with this model.

## Figures on {dev}
| | value |
|---|---|
{rows}

## How it was made
`{command}`, {steps:,} steps in {time} on {processes}; these weights are {weights}. The settings:
```json
{settings}
```
"""


@dataclass(frozen=True)
class Exported:
    """The exported model: its figures, and which weights they are."""

    validation: Validation
    steps: tuple[int, ...]

    @property
    def weights(self) -> str:
        """The weights in words."""
        if len(self.steps) == 1:
            return f"those of step {self.steps[0]:,}"
        return f"the average of steps {', '.join(f'{step:,}' for step in sorted(self.steps))}"


def export(trainer: Trainer, corpus: Corpus, command: str) -> Exported:
    """Average the best weights, keep the average if it is better than the best alone, and write the model folder."""
    chosen = _choose(trainer)
    if trainer.main:
        about = {
            **_purpose(corpus, trainer.config.dev_split).to_dict(),
            "data": corpus.folder.name,
            "steps": list(chosen.steps),
            "figures": chosen.validation.figures,
            "command": command,
        }
        card = model_card(trainer, corpus, command, chosen)
        with disk_errors(trainer.out):
            _save(trainer, card, about)
    return chosen


def _purpose(corpus: Corpus, split: str) -> Purpose:
    """The purpose of the model, by the languages of a few pairs."""
    pairs = list(islice(corpus.split(split), _GUESSED_PAIRS))
    return Purpose.guess([pair.source for pair in pairs], [pair.target for pair in pairs])


def _save(trainer: Trainer, card: str, about: dict[str, Any]) -> None:
    material = trainer.material
    if isinstance(material.network, Network):
        save_pretrained(trainer.out, material.network, material.vocabulary, card, about=about)
        return
    from syntagma.network.backbone.network import Backbone
    from syntagma.network.backbone.storage import save_backbone

    assert isinstance(material.network, Backbone)
    assert material.origin is not None
    save_backbone(trainer.out, material.network, material.vocabulary, material.origin, card, about)


def _choose(trainer: Trainer) -> Exported:
    """The better of the average and the best, loaded into the network."""
    paths = trainer.best.undamaged() if trainer.main else []
    if trainer.main and not paths:
        raise CheckpointError("none of the best weights is whole", None, "go on training with another folder")
    sets: list[list[Path]] = [paths] if len(paths) == 1 else [paths, paths[:1]]
    tried: list[tuple[Exported, dict[str, Tensor]]] = []
    for some in trainer.engine.broadcast(sets):
        weights = trainer.engine.broadcast(average(some) if trainer.main else None)
        trainer.network.load_state_dict(weights)
        figures = trainer.check(validate(trainer.validator, trainer.network))
        tried.append((Exported(figures, tuple(int(path.stem.removeprefix("step-")) for path in some)), weights))
    best = max(tried, key=lambda candidate: candidate[0].validation.score)
    trainer.network.load_state_dict(best[1])
    return best[0]


def model_card(trainer: Trainer, corpus: Corpus, command: str, chosen: Exported) -> str:
    """A model card in Markdown."""
    config = trainer.config
    rows = "\n".join(f"| {name} | {value:.4g} |" for name, value in chosen.validation.figures.items())
    processes = trainer.engine.world
    facts = corpus.facts
    return _CARD.format(
        name=trainer.out.resolve().name,
        architecture=trainer.network.config.architecture,
        size=f"preset `{config.preset}`" if config.backbone is None else f"based on `{Path(config.backbone).name}`",
        parameters=sum(weight.numel() for weight in trainer.network.parameters()),
        version=__version__,
        data=corpus.folder.resolve().name,
        pairs=f"{facts['splits'][config.train_split]['pairs']:,}",
        parser=f"{facts['parser']['name']} {facts['parser']['version']}",
        labels=" ".join(corpus.labels),
        dev=f"`{config.dev_split}` ({facts['splits'][config.dev_split]['pairs']:,} pairs)",
        rows=rows,
        command=command,
        steps=trainer.state.step,
        time=duration(trainer.state.seconds),
        processes="one process" if processes == 1 else f"{processes} processes",
        weights=chosen.weights,
        settings=json.dumps({k: v for k, v in config.to_dict().items() if k != "data"}, indent=1),
    )
