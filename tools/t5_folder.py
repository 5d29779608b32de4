"""A T5 model that was exported as two int8 ONNX graphs, as a folder in the form of Hugging Face.

    python tools/t5_folder.py --graphs FOLDER --out flan-t5-small

`--graphs` holds `encoder.onnx`, `decoder.onnx` and `tokenizer.json`; the weights are read back to floats, nothing is
executed.  `init=` and `pieces=` take the folder that it writes.  Needs `onnx`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

from syntagma.files import atomic_folder

QUANTISED = "_quantized"


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    weights: dict[str, np.ndarray] = {}
    for side in ("encoder", "decoder"):
        weights |= weights_of(options.graphs / f"{side}.onnx", side)
    weights["shared.weight"] = weights.pop("encoder.embed_tokens.weight")
    weights.pop("decoder.embed_tokens.weight", None)
    with atomic_folder(options.out) as folder:
        save_file(
            {name: np.ascontiguousarray(weight, np.float32) for name, weight in weights.items()},
            folder / "model.safetensors",
        )
        (folder / "config.json").write_text(json.dumps(config_of(weights), indent=2) + "\n", encoding="utf-8")
        shutil.copy(options.graphs / "tokenizer.json", folder / "tokenizer.json")
    print(f"{sum(weight.size for weight in weights.values()):,} weights in {options.out}")


def weights_of(path: Path, side: str) -> dict[str, np.ndarray]:
    """The weights in a graph under T5's names: those of matrices stand in the names of the nodes that multiply."""
    graph = onnx.load(path).graph
    arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}

    def whole(name: str) -> np.ndarray:
        root = name.removesuffix(QUANTISED)
        zero, scale = (arrays[f"{root}_{part}"].astype(np.float32) for part in ("zero_point", "scale"))
        return (arrays[name].astype(np.float32) - zero) * scale

    weights = {}
    for name, array in arrays.items():
        if name.endswith("layer_norm.weight"):
            weights[named(name, side)] = array
        elif name.endswith(f".weight{QUANTISED}"):
            weights[named(name.removesuffix(QUANTISED), side)] = whole(name)
    for node in graph.node:
        if node.op_type == "MatMulInteger" and node.input[1] in arrays:
            name = ".".join(node.name.strip("/").split("/")[:-1]) + ".weight"
            weights[named(name, side)] = whole(node.input[1]).T
    return weights


def named(name: str, side: str) -> str:
    """T5's name of a weight, from the one that an exported module gave it."""
    if match := re.search(r"(block\.\d+\.layer\..*|final_layer_norm\.weight)$", name):
        return f"{side}.{match[1]}"
    return "lm_head.weight" if "lm_head" in name else f"{side}.embed_tokens.weight"


def config_of(weights: dict[str, np.ndarray]) -> dict[str, Any]:
    """The configuration that the weights' shapes come to."""
    vocabulary, width = weights["shared.weight"].shape
    heads = weights["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"].shape[1]
    gated = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight" in weights
    inner = "wi_0" if gated else "wi"
    return {
        "model_type": "t5",
        "vocab_size": vocabulary,
        "d_model": width,
        "num_heads": heads,
        "d_kv": weights["encoder.block.0.layer.0.SelfAttention.q.weight"].shape[0] // heads,
        "d_ff": weights[f"encoder.block.0.layer.1.DenseReluDense.{inner}.weight"].shape[0],
        "num_layers": count(weights, "encoder"),
        "num_decoder_layers": count(weights, "decoder"),
        "feed_forward_proj": "gated-gelu" if gated else "relu",
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "decoder_start_token_id": 0,
        "pad_token_id": 0,
        "eos_token_id": 1,
    }


def count(weights: dict[str, np.ndarray], side: str) -> int:
    """How many layers a side has."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith(f"{side}.block."))


if __name__ == "__main__":
    main()
