"""The model card that goes into a model folder."""

from __future__ import annotations

import json

from syntagma.parse.score import BracketScore
from syntagma.parse.settings import ParserTrainConfig, Trees
from syntagma.parse.shape import ParserConfig

_CARD = """# {name}

A constituency parser: a span-based chart parser (Kitaev and Klein, 2018) on a pretrained encoder of {layers} layers of
width {width} (`{encoder}`), with parts of speech. It takes up to {longest} words a sentence. Version {version}.

```python
from syntagma import Parser
Parser.from_pretrained("{name}")("It seems like he has made a mistake.")
```

## Data
Trained on {gold:,} gold and {silver:,} silver trees, scored on {dev:,} others. The licence of the trees holds for what
is done with this model.

## Figures on the dev trees (evalb's rules)
| | all labels | S NP VP PP |
|---|---|---|
{rows}

## How it was made
`syntagma parser train`, with these settings:
```json
{settings}
```
"""


def model_card(
    model: ParserConfig, config: ParserTrainConfig, data: Trees, score: BracketScore, pruned: BracketScore
) -> str:
    """A model card in Markdown."""
    all_labels, kept_labels = score.figures(), pruned.figures()
    rows = "\n".join(
        f"| {name.replace('_', ' ')} | {all_labels[name]:.2f} | {kept_labels[name]:.2f} |"
        for name in list(all_labels)[1:]
    )
    return _CARD.format(
        name=model.name,
        version=model.version,
        layers=model.encoder.layers,
        width=model.encoder.width,
        encoder=config.encoder,
        longest=model.longest,
        gold=len(data.gold),
        silver=len(data.silver),
        dev=len(data.dev),
        rows=rows,
        settings=json.dumps(config.to_dict(), indent=1),
    )
