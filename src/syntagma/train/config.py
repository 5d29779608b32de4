"""How a model is trained: one frozen value, kept in the run's `train.json`.

>>> TrainConfig.from_dict({"data": "corpus", "preset": "tiny", "lr": 0.01, "width": 16}).model
{'width': 16}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

from syntagma.aliases import renamed
from syntagma.errors import ConfigError
from syntagma.network.config import PRESETS, Architecture, ModelConfig, preset
from syntagma.settings import Settings, setting, unknown
from syntagma.text.subwords import Subwords

_FROM_CORPUS = ("vocabulary", "outputs", "architecture", "labels", "pad", "start", "end", "sep", "part")

_PAPER: dict[str, Any] = {
    "lr": 7e-4, "schedule": "inverse-sqrt", "warmup": 10_000, "weight_decay": 0.01, "smoothing": 0.1,
    "batch_tokens": 64_000, "steps": 300_000, "keep_best": 5, "precision": "auto",
}  # fmt: skip
PRESET_TRAINING: dict[str, dict[str, Any]] = {
    "paper-paranmt": _PAPER,
    "paper-wmt": _PAPER | {"accumulate": 8},
    "big": _PAPER | {"accumulate": 8},
    "paper-bart": {
        "backbone": "facebook/bart-base", "epochs": 10, "batch_tokens": 16_000, "accumulate": 4, "lr": 3e-5,
        "schedule": "linear", "warmup": 500, "keep_best": 5, "precision": "auto",
    },
}  # fmt: skip
"""How the paper's models were trained, where settings do not say otherwise: `paper-wmt` as for WMT'14 (512K tokens a
step), so `accumulate=4` is for WMT'16 Ro-En and NIST Zh-En.  Where the paper says that the learning rate "anneals
exponentially", ours falls with the inverse square root of the steps, as is usual with these settings;
`schedule=exponential` takes it at its word.  `paper-bart` fine-tunes BART-base (its warm-up is ours)."""


@dataclass(frozen=True)
class TrainConfig(Settings):
    """Everything that decides the weights that a run ends with.

    A setting of the network (`dropout`, `width`, ...) may stand among the others or under `model`.
    """

    data: str
    """The folder of a prepared corpus."""
    preset: str = "small"
    """The size: tiny, small, base, big, paper-paranmt or paper-wmt."""
    architecture: Architecture | None = None
    """The network's kind: where not given, that of `init`, else extra-encoder, or concat for a backbone."""
    model: dict[str, Any] = field(default_factory=dict)
    """Settings of the network that differ from the preset's."""
    init: str | None = None
    """A model to start from instead of random weights.  If its vocabulary is another, pieces in both keep their
    embeddings; if its architecture is another or its layers are fewer, what both have in common is taken
    (`syntagma.train.start`).  Also a pretrained Marian model: a folder or a hub id such as
    Helsinki-NLP/opus-mt-fr-en."""
    backbone: str | None = None
    """A pretrained Hugging Face model to train instead: a folder, a .gguf file or a hub id."""
    lora: bool = False
    """Train adapters beside the backbone's weights instead of the weights."""
    lora_rank: int = setting(16, ge=1)
    """The rank of the adapters."""
    seed: int = setting(1, ge=0)
    """Decides everything that is drawn."""
    train_split: str = "train"
    """The split to train on."""
    dev_split: str = "dev"
    """The split to validate on."""

    steps: int | None = setting(None, gt=0)
    """End after so many steps."""
    epochs: float | None = setting(None, gt=0, lt=math.inf)
    """End after so many rounds of the data; with no end given, 10."""
    minutes: float | None = setting(None, gt=0, lt=math.inf)
    """Plan the run to end in so many minutes."""
    replan: bool = True
    """Whether a run of so many minutes corrects its plan on the way, as the machine gets slower or faster."""

    batch_tokens: int = setting(8000, ge=1)
    """Source, context and infill tokens of a batch, padding included; processes share a batch."""
    batch_sentences: int | None = setting(None, ge=1)
    """The most sentences in a batch."""
    accumulate: int = setting(1, ge=1)
    """Batches a step."""
    skip_long: bool = False
    """Leave out examples longer than the positions, instead of refusing them."""
    seq2seq_only: bool = False
    """Train a guided model that has `seq2seq_objective` on whole texts alone: it then sees three times as many pairs an
    hour, and its levels are trained by a run after this one."""
    level_floor: float = setting(1.0, ge=0, le=1)
    """An epoch keeps a share of each example's levels, halfway from this to 1, and draws a level that brings no words
    with this weight, one of words alone with 1; 1 keeps all.  Less takes less time an epoch."""

    lr: float = setting(7e-4, gt=0, lt=math.inf)
    """The highest learning rate."""
    schedule: Literal["inverse-sqrt", "exponential", "cosine", "linear", "constant"] = "inverse-sqrt"
    """How the rate falls after the warm-up."""
    warmup: int = setting(2000, ge=0)
    """Steps of warm-up, at most a quarter of the run."""
    lr_end: float = 0.0
    """Where the cosine, the line or the exponential ends; 0 stands for a hundredth of the rate in the last."""
    weight_decay: float = setting(0.01, ge=0)
    """AdamW's weight decay."""
    clip: float = setting(1.0, ge=0)
    """The greatest norm of a step's gradient; 0 leaves it as it is."""
    smoothing: float = setting(0.1, ge=0, le=1)
    """Label smoothing."""

    validate_every: int = setting(500, ge=1)
    """Steps between validations."""
    validate_by: Literal["loss", "bleu", "ibleu"] = "loss"
    """The figure that decides which weights are the best; BLEU and iBLEU from greedy outputs for dev sources."""
    validate_sentences: int = setting(200, ge=1)
    """Dev sources to generate for, where validation is by BLEU or iBLEU."""
    patience: int = setting(0, ge=0)
    """Validations without a better score before the run stops; 0 never stops it."""
    keep_best: int = setting(5, ge=1)
    """The best checkpoints that are averaged."""
    save_every: int = setting(500, ge=1)
    """Steps between checkpoints."""
    save_minutes: float = setting(5.0, ge=0)
    """Minutes after which a checkpoint is written in any case."""
    log_every: int = setting(50, ge=1)
    """Steps between lines of the log."""

    precision: Literal["fp32", "bf16", "fp16", "auto"] = "fp32"
    """The type to compute in; `auto` is bf16 where the hardware computes in it, else fp16 (with loss scaling) on a GPU,
    fp32 on a processor."""
    threads: int = setting(0, ge=0)
    """Processor threads in each process; 0 is what suits the model: one for a small one, else what torch chooses."""
    accelerator: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute."""
    devices: int = setting(1, ge=1)
    """Processes on this machine; `torchrun` decides for itself."""
    nodes: int = setting(1, ge=1)
    """Machines."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preset not in PRESETS:
            raise ConfigError(f"there is no preset {self.preset!r}", remedy=f"choose one of {', '.join(PRESETS)}")
        if self.schedule in ("cosine", "linear", "exponential") and not 0 <= self.lr_end <= self.lr:
            raise ConfigError(f"'lr_end' cannot be {self.lr_end}", remedy=f"give a rate from 0 to {self.lr}")
        self._check_backbone()
        for name in self.model:
            if name in _FROM_CORPUS:
                raise ConfigError(
                    f"{name!r} cannot be set for the network", remedy="leave it out, the corpus decides it"
                )
        preset(self.preset, 1000, self.usual_architecture, **self.model)

    @property
    def usual_architecture(self) -> Architecture:
        """The architecture where no model to start from decides it."""
        return self.architecture or ("extra-encoder" if self.backbone is None else "concat")

    def _check_backbone(self) -> None:
        if self.backbone is None:
            if self.lora:
                raise ConfigError("LoRA needs a backbone", remedy="name a pretrained model with --backbone")
            return
        if self.usual_architecture not in ("concat", "seq2seq", "linearised"):
            what = f"a backbone cannot be {self.architecture}, it has no second encoder"
            raise ConfigError(what, remedy="train with architecture=concat, or seq2seq for the baseline")
        if self.init is not None:
            raise ConfigError("a run starts from a backbone or from a model, not both", remedy="leave out one of them")
        if other := sorted(self.model.keys() - {"max_positions", "seq2seq_objective"}):
            what = f"{other[0]!r} is the backbone's own and cannot be set"
            raise ConfigError(what, remedy="leave it out")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The settings with `values`; those that only the network has go into `model`."""
        own = {item.name for item in fields(cls)}
        network = {item.name for item in fields(ModelConfig)}
        training = renamed("ModelConfig", values)
        training = PRESET_TRAINING.get(str(training.get("preset")), {}) | training
        model = training.pop("model", {})
        if not isinstance(model, dict):
            raise ConfigError(f"'model' cannot be {model!r}", remedy="give a mapping of the network's settings")
        model = renamed("ModelConfig", model)
        for name in list(training):
            if name in network - own:
                model[name] = training.pop(name)
            elif name not in own:
                raise unknown(name, own | network, "training or of the network")
        return replace(super().from_dict(training), model=model)

    def network(self, subwords: Subwords) -> ModelConfig:
        """The configuration of a network for this vocabulary."""
        labels = tuple(subwords.label_id(name) for name in ("T", *subwords.labels))
        outputs = subwords.outputs if subwords.outputs < subwords.size else None
        values = {**self.model, "labels": labels, "outputs": outputs}
        return preset(self.preset, subwords.size, self.usual_architecture, **values)
