"""Low-rank adapters (package `peft`): small matrices beside a base's frozen weights, and the new tokens' embeddings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from syntagma.errors import MissingExtra


def add_adapters(model: Any, rank: int, tokens: Iterable[int]) -> Any:
    """The model with adapters of a rank at all its linear layers; those and the embeddings of `tokens` are trained."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtra("peft", "hf", "training with LoRA") from None
    conv = any(type(module).__name__ == "Conv1D" for module in model.modules())  # GPT-2's linear layers
    settings = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=0.05,
        target_modules="all-linear",
        trainable_token_indices={_embedding_name(model): sorted(tokens)},
        fan_in_fan_out=conv,
    )
    return get_peft_model(model, settings)


def merged(model: Any) -> nn.Module:
    """The base with its adapters added into its weights, for generation."""
    plain: nn.Module = model.merge_and_unload()
    return plain


def _embedding_name(model: Any) -> str:
    table = model.get_input_embeddings()
    name: str = next(name for name, module in model.named_modules() if module is table)
    return name.rsplit(".", 1)[-1]
