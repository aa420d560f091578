"""all-MiniLM-L6-v2 as an ONNX graph for one text, made from the arrays of the model's own file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from dptopics.public.text_models import Floats

LAYERS, HEADS = 6, 12
LARGEST = 63  # of a weight in bytes: two products with an input of 0 to 255 fit into 16 bits on every processor
_OURS = "com.microsoft"  # where onnxruntime keeps its own steps for models of this kind
_STANDARD = ("DynamicQuantizeLinear", "LpNormalization", "MatMul", "ReduceMean")


@dataclass(frozen=True)
class _Graph:
    arrays: dict[str, Floats]  # of the model, by their names in its file
    in_bytes: bool
    nodes: list[Any] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)

    def store(self, name: str, value: Any) -> str:
        self.stored.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def own(self, *names: str) -> list[str]:
        return [self.store(name, self.arrays[name]) for name in names]

    def step(self, kind: str, inputs: Sequence[str], *more: str, **settings: Any) -> str:
        """Append a step; its first output is named after its place, ``more`` are the names of further ones."""
        name, domain = f"step {len(self.nodes)}", "" if kind in _STANDARD else _OURS
        self.nodes.append(helper.make_node(kind, inputs, [name, *more], domain=domain, **settings))
        return name

    def rounded(self, name: str, matrix: Floats) -> list[str]:
        """Inputs × outputs in bytes, with a scale for each output."""
        scale = np.abs(matrix).max(axis=0) / np.float32(LARGEST)
        small = np.rint(matrix / scale).astype(np.int8)
        none = np.zeros(len(scale), np.int8)
        return [self.store(f"{name} {part}", value) for part, value in (("int8", small), ("scale", scale), ("0", none))]

    def product(self, x: str, name: str) -> str:
        matrix = self.arrays[f"{name}.weight"].T
        if self.in_bytes:
            return self.step("DynamicQuantizeMatMul", [x, *self.rounded(name, matrix)])
        return self.step("MatMul", [x, self.store(f"{name}.weight", matrix)])

    def attention(self, x: str, name: str) -> str:
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self.arrays[f"{part}.weight"] for part in parts]).T
        bias = self.store(f"{name}.bias", np.concatenate([self.arrays[f"{part}.bias"] for part in parts]))
        if not self.in_bytes:
            return self.step("Attention", [x, self.store(f"{name}.weight", matrix), bias], num_heads=HEADS)
        small, scale, none = self.rounded(name, matrix)
        x_scale, x_zero = f"{name} input scale", f"{name} input zero"
        x = self.step("DynamicQuantizeLinear", [x], x_scale, x_zero)
        return self.step("QAttention", [x, small, bias, x_scale, scale, "", x_zero, none], num_heads=HEADS)

    def add_and_normalise(self, x: str, more: str, name: str) -> str:
        names = (f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias", f"{name}.dense.bias")
        return self.step("SkipLayerNormalization", [more, x, *self.own(*names)], epsilon=1e-12)

    def layer(self, x: str, at: str) -> str:
        mixed = self.product(self.attention(x, f"{at}.attention.self"), f"{at}.attention.output.dense")
        x = self.add_and_normalise(x, mixed, f"{at}.attention.output")
        wide = self.product(x, f"{at}.intermediate.dense")
        wide = self.step("BiasGelu", [wide, *self.own(f"{at}.intermediate.dense.bias")])
        return self.add_and_normalise(x, self.product(wide, f"{at}.output.dense"), f"{at}.output")


def graph(arrays: dict[str, Floats], in_bytes: bool) -> bytes:
    """From ``ids`` (1 × tokens) to a unit vector. In bytes: weights of 7 bits, inputs of 8 by the text's own scale."""
    made = _Graph(arrays, in_bytes)
    # every token is of the first kind (there are no second sentences): its vector is added to those of the places
    places = arrays["embeddings.position_embeddings.weight"] + arrays["embeddings.token_type_embeddings.weight"][0]
    (words,) = made.own("embeddings.word_embeddings.weight")
    norm = made.own("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")
    inputs = ["ids", "", words, made.store("places", places), "", *norm]
    x = made.step("EmbedLayerNormalization", inputs, "no mask", epsilon=1e-12)
    for i in range(LAYERS):
        x = made.layer(x, f"encoder.layer.{i}")
    x = made.step("ReduceMean", [x, made.store("axis", np.array([1]))], keepdims=0)
    vector = made.step("LpNormalization", [x], axis=1, p=2)
    given = helper.make_tensor_value_info("ids", TensorProto.INT32, [1, "tokens"])
    found = helper.make_tensor_value_info(vector, TensorProto.FLOAT, [1, places.shape[1]])
    whole = helper.make_graph(made.nodes, "all-MiniLM-L6-v2", [given], [found], made.stored)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(_OURS, 1)]
    return helper.make_model(whole, opset_imports=versions, ir_version=9).SerializeToString()
