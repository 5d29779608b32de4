"""Tiny random pretrained models with small tokenizers of their own, made as a user's folder would hold them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from string import ascii_letters
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "I saw the fish on the mat.", "you liked an apple", "the dog ate a house", "a cat found some bread .",
    "my friend can't have it, didn't he?", "the fish was what I saw on the mat", "He said: 12 dogs' bread (all).",
] * 3  # fmt: skip
KINDS = ("bart", "t5", "marian", "gpt2", "llama")
FOREIGN = ["Ich sah den Fisch auf der Matte.", "du mochtest einen Apfel", "der Hund fraß ein Haus", "wer weiß es?"] * 3


def byte_level(specials: list[str], bos: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=specials, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    tokenizer.train_from_iterator(TEXTS, trainer)
    if bos:
        ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return tokenizer


def unigram() -> Tokenizer:
    specials = ["<pad>", "</s>", "<unk>", *(f"<extra_id_{number}>" for number in range(12))]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(left=False, right=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=specials, unk_token="<unk>", show_progress=False,
        initial_alphabet=sorted(set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?()<>/_:;'’-▁\"")),
    )  # fmt: skip
    tokenizer.train_from_iterator(TEXTS, trainer)
    ends = [("</s>", tokenizer.token_to_id("</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=ends)
    return tokenizer


def sentencepieces(folder: Path) -> Any:
    """A Marian tokenizer: a sentencepiece file for each language, and one list of ids."""
    import sentencepiece
    import transformers as hf

    folder.mkdir(parents=True, exist_ok=True)
    ids = {"</s>": 0, "<unk>": 1}
    for name, texts in (("source", [*FOREIGN, *TEXTS]), ("target", [*TEXTS, *ascii_letters, "<>/_:;0123456789-"])):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_prefix=str(folder / name), vocab_size=110, hard_vocab_limit=False,
            character_coverage=1.0, minloglevel=2,
        )  # fmt: skip
        (folder / f"{name}.model").rename(folder / f"{name}.spm")
        (folder / f"{name}.vocab").unlink()
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        for at in range(3, pieces.get_piece_size()):  # after <unk>, <s>, </s>
            ids.setdefault(pieces.id_to_piece(at), len(ids))
    ids["<pad>"] = len(ids)
    (folder / "vocab.json").write_text(json.dumps(ids))
    with warnings.catch_warnings(action="ignore"):
        return hf.MarianTokenizer(*(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")))


def make_base(folder: Path, kind: str, seed: int = 0) -> Path:
    """A random model of that kind, saved."""
    import transformers as hf

    torch.manual_seed(seed)
    settings: dict[str, Any] = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    if kind == "bart":
        specials = ["<s>", "<pad>", "</s>", "<unk>", *(f"madeupword{number:04d}" for number in range(3)), "<mask>"]
        tokens = byte_level(specials, bos=True)
        settings |= {"bos_token": "<s>", "mask_token": "<mask>"}
        model: Any = hf.BartForConditionalGeneration(hf.BartConfig(
            vocab_size=tokens.get_vocab_size(), d_model=32, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=48,
            decoder_ffn_dim=48, encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=128,
            bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None,
        ))  # fmt: skip
    elif kind == "t5":
        tokens = unigram()
        model = hf.T5ForConditionalGeneration(hf.T5Config(
            vocab_size=tokens.get_vocab_size() + 4, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_decoder_layers=2,
            num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=16,
            pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        ))  # fmt: skip
    elif kind == "marian":
        slow = sentencepieces(folder)
        slow.save_pretrained(folder)
        pad = slow.pad_token_id
        model = hf.MarianMTModel(hf.MarianConfig(
            vocab_size=pad + 1, d_model=32, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=48, decoder_ffn_dim=48,
            encoder_attention_heads=4, decoder_attention_heads=4, max_position_embeddings=128, pad_token_id=pad,
            eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None,
        ))  # fmt: skip
        tokens = None
    elif kind == "gpt2":
        tokens = byte_level(["<|endoftext|>"], bos=False)
        settings = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
        model = hf.GPT2LMHeadModel(hf.GPT2Config(
            vocab_size=tokens.get_vocab_size(), n_embd=32, n_layer=2, n_head=4, n_positions=256,
            bos_token_id=0, eos_token_id=0,
        ))  # fmt: skip
    else:
        tokens = byte_level(["<unk>", "<s>", "</s>"], bos=False)
        settings = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        ends = [("<s>", tokens.token_to_id("<s>"))]
        tokens.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=ends)
        model = hf.LlamaForCausalLM(hf.LlamaConfig(
            vocab_size=tokens.get_vocab_size(), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2,
        ))  # fmt: skip
    with torch.no_grad():  # sharp preferences
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(3.0)
    model.save_pretrained(folder)
    if tokens is not None:
        hf.PreTrainedTokenizerFast(tokenizer_object=tokens, **settings).save_pretrained(folder)
    return folder
