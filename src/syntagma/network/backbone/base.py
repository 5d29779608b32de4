"""The pretrained model that a backbone starts from: found, loaded, checked, and given ids for labels and controls.

A base is a folder, a `.gguf` file, or an id on the Hugging Face hub.  Nothing in it is executed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from syntagma.errors import BackboneError, MissingExtra, Place
from syntagma.levels import TOP
from syntagma.network.backbone.sentencepieces import read_sentencepiece
from syntagma.network.config import Architecture, ModelConfig
from syntagma.network.storage import hash_weights
from syntagma.text.pretrained import Controls, PretrainedVocabulary

Kind = Literal["encoder-decoder", "causal"]
UNLIMITED = 1024
"""The positions of a model that has no limit of its own."""

_UNUSED = re.compile(r"madeupword\d+|<extra_id_\d+>|[<\[]unused_?\d+[>\]]|<\|reserved_special_token_\d+\|>")
_GENERATORS = re.compile(r"ForConditionalGeneration|ForCausalLM|LMHeadModel|MTModel|ForSeq2SeqLM")


@dataclass(frozen=True)
class Base:
    """A pretrained model with its tokenizer, as the library loads them."""

    name: str
    kind: Kind
    model: Any
    tokenizer: Any
    pieces: Tokenizer
    """How the tokenizer takes text apart."""
    source_pieces: Tokenizer | None
    """How it takes a source apart, where that is in another language and it makes a difference."""
    fingerprint: str
    """The same for equal weights."""


def load_base(name: str) -> Base:
    """The pretrained model of that name; one sentence says what is wrong where it cannot be used."""
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    where, options = locate(name)
    shape = _load(name, transformers.AutoConfig, where, options)
    kind = kind_of(name, shape)
    with warnings.catch_warnings():  # Marian's names a package that it does not use
        warnings.filterwarnings("ignore", message=".*sacremoses")
        tokenizer = _load(name, transformers.AutoTokenizer, where, options)
    pieces, source_pieces = _pieces(name, tokenizer)
    maker = transformers.AutoModelForSeq2SeqLM if kind == "encoder-decoder" else transformers.AutoModelForCausalLM
    model = _load(name, maker, where, options | {"dtype": torch.float32}).eval()
    return Base(name, kind, model, tokenizer, pieces, source_pieces, fingerprint(model))


def locate(name: str) -> tuple[str, dict[str, Any]]:
    """The name and the options that the library needs for a folder, a `.gguf` file or a hub id."""
    path = Path(name)
    if path.suffix == ".gguf" and path.is_file():
        try:
            import gguf  # type: ignore[import-not-found, import-untyped, unused-ignore] # noqa: F401
        except ImportError:
            raise MissingExtra("gguf", "hf", "reading .gguf files") from None
        return str(path.parent), {"gguf_file": path.name, "local_files_only": True}
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise BackboneError("it holds no config.json", Place(name), "give the folder of a pretrained model")
        return name, {"local_files_only": True}
    if path.suffix == ".gguf" or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        raise BackboneError(f"there is no backbone {name!r}", remedy="give a folder, a .gguf file or a hub id")
    return name, {}


def _load(name: str, maker: Any, where: str, options: dict[str, Any]) -> Any:
    try:
        return maker.from_pretrained(where, **options)
    except Exception as error:  # the library has an error for each of many causes
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
        if options:
            raise BackboneError(f"it cannot be loaded ({reason})", Place(name), "check the folder's files") from None
        what = f"{name!r} is no folder here, and it cannot be fetched from the hub ({reason})"
        raise BackboneError(what, remedy="give the folder of a copy made where there is a network") from None


def _pieces(name: str, tokenizer: Any) -> tuple[Tokenizer, Tokenizer | None]:
    """How a tokenizer takes text apart, and how sources, where that is different."""
    if getattr(tokenizer, "backend_tokenizer", None) is not None:
        return tokenizer.backend_tokenizer, None
    files = getattr(tokenizer, "spm_files", None)
    if files is None or getattr(tokenizer, "separate_vocabs", False):
        what = "has ids of its own for each language" if files else "has no tokenizer.json form"
        raise BackboneError(f"the tokenizer of {name!r} {what}", remedy="use a model such as BART or T5")
    source, target = (read_sentencepiece(file, tokenizer.get_vocab(), tokenizer.unk_token) for file in files)
    return target, source


def kind_of(name: str, shape: Any) -> Kind:
    """Whether a model is an encoder-decoder or causal; one that writes no text is an error."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    )

    both = bool(shape.is_encoder_decoder)
    known = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES if both else MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    declared = shape.architectures or []
    if shape.model_type not in known or (declared and not any(map(_GENERATORS.search, declared))):
        named = declared[0] if declared else shape.model_type
        what = f"{name!r} is no text generator ({named})"
        raise BackboneError(what, remedy="use an encoder-decoder such as BART or T5, or a causal model such as GPT-2")
    return "encoder-decoder" if both else "causal"


def fingerprint(model: nn.Module) -> str:
    """The same for equal weights, however they are stored."""
    return hash_weights(dict(model.named_parameters()))


# -- labels and controls


def adapt(
    base: Base,
    labels: Sequence[str],
    architecture: Architecture,
    max_positions: int | None = None,
    seq2seq_objective: bool = False,
) -> tuple[PretrainedVocabulary, ModelConfig, tuple[int, ...]]:
    """Give a base ids for labels and controls; its vocabulary, its configuration, and what it reads before a source.

    Entries that the tokenizer never uses are taken first; where there are too few, the embeddings grow.
    """
    shape, tokenizer = base.model.config.get_text_config(), base.tokenizer
    end = _first(tokenizer.eos_token_id, shape.eos_token_id)
    if end is None:
        what = f"the tokenizer of {base.name!r} has no token that ends a text"
        raise BackboneError(what, remedy="set its eos_token in tokenizer_config.json")
    start = _first(getattr(base.model.config, "decoder_start_token_id", None))
    if base.kind == "encoder-decoder" and start is None:
        what = f"{base.name!r} does not say which token its decoder starts from"
        raise BackboneError(what, remedy="set decoder_start_token_id in its config.json")
    pad = _first(tokenizer.pad_token_id)
    unused = [
        token_id for piece, token_id in sorted(tokenizer.get_vocab().items(), key=_by_id) if _UNUSED.fullmatch(piece)
    ]
    rows = base.model.get_input_embeddings().num_embeddings
    spare = [*unused, *range(max(tokenizer.get_vocab().values()) + 1, rows)]
    names = ["sep", "part", TOP.name, *labels]
    names += ["pad"] if pad is None or pad == end else []
    names += ["start"] if base.kind == "causal" else []
    new = range(rows, rows + max(0, len(names) - len(spare)))
    taken = dict(zip(names, [*spare, *new], strict=False))
    if new:
        _grow(base.model, new)
    controls = Controls(
        taken.get("pad", pad or 0), taken.get("start", start or 0), end, taken["sep"], taken["part"],
        {name: taken[name] for name in (TOP.name, *labels)},
    )  # fmt: skip
    added = tokenizer.added_tokens_decoder
    hidden = {*tokenizer.all_special_ids, *unused, *(token_id for token_id, token in added.items() if token.special)}
    size = rows + len(new)
    source = None if base.source_pieces is None else base.source_pieces.to_str()
    vocabulary = PretrainedVocabulary.adapt(base.pieces.to_str(), controls, size, hidden, source)
    prefix = tuple(_prefix(tokenizer))
    own = positions(base.kind, shape, len(prefix))
    if max_positions is not None and max_positions > own:
        what = f"{base.name!r} has room for {own} positions, not {max_positions}"
        raise BackboneError(what, remedy=f"give a max_positions of at most {own}")
    config = ModelConfig(
        vocabulary=size, architecture=architecture, width=shape.hidden_size, heads=1, dropout=0.0,
        source_layers=getattr(shape, "encoder_layers", shape.num_hidden_layers), context_layers=0,
        decoder_layers=getattr(shape, "decoder_layers", shape.num_hidden_layers),
        max_positions=max_positions or own, pad=controls.pad, start=controls.start, end=end, sep=controls.sep,
        part=controls.part, labels=tuple(controls.labels.values()), seq2seq_objective=seq2seq_objective,
    )  # fmt: skip
    return vocabulary, config, prefix


def positions(kind: Kind, shape: Any, prefix: int) -> int:
    """The tokens of a source with its context, or of an infill, that a model has room for.

    A causal model has one row of positions for both, and each gets half.
    """
    limit = getattr(shape, "max_position_embeddings", None) or UNLIMITED
    return limit // 2 - prefix if kind == "causal" else limit - prefix - 1


def _grow(model: Any, new: range) -> None:
    """Add rows to the embeddings: each the mean of all, and a little chance, so that they can be told apart."""
    model.resize_token_embeddings(new.stop, mean_resizing=False)
    chance = torch.Generator().manual_seed(0)
    tables: list[Tensor] = [model.get_input_embeddings().weight]
    output = model.get_output_embeddings()
    if output is not None and output.weight is not tables[0]:
        tables.append(output.weight)
    with torch.no_grad():
        for table in tables:
            known = table[: new.start]
            noise = torch.randn(len(new), table.shape[1], generator=chance) * known.std(dim=0) * 0.1
            table[new.start :] = known.mean(dim=0) + noise.to(table)


def _prefix(tokenizer: Any) -> list[int]:
    """The ids that the tokenizer puts before every text."""
    inside = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    starts = [index for index in range(len(whole)) if whole[index : index + len(inside)] == inside]
    return list(whole[: starts[0]]) if starts else []


def _first(*ids: Any) -> int | None:
    for item in ids:
        if isinstance(item, list | tuple) and item:
            return int(item[0])
        if isinstance(item, int):
            return item
    return None


def _by_id(item: tuple[str, int]) -> int:
    return item[1]
