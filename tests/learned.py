"""Small operators of ai.onnx.ml: attributes for rows of three features."""

from __future__ import annotations

from typing import Any, Final

from onnx import TensorProto, helper

DOMAIN: Final = "ai.onnx.ml"
FEATURES: Final = 3

_TREE: Final[dict[str, Any]] = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_values": [0.5, 1.0, 0.0, 0.0, 0.0, -0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
}
_LEAVES: Final = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2]}
_WEIGHTS: Final = [0.25, 0.5, 0.75, 0.125, 0.875]


def _leaves(stem: str, ids: list[int]) -> dict[str, Any]:
    named = {f"{stem}_{name}": each for name, each in _LEAVES.items()}
    return {**_TREE, **named, f"{stem}_ids": ids, f"{stem}_weights": _WEIGHTS}


def _grown() -> dict[str, Any]:
    def tensor(kind: int, values: list[float]) -> Any:
        return helper.make_tensor("", kind, [len(values)], values)

    return {
        "n_targets": 2,
        "aggregate_function": 1,
        "post_transform": 0,
        "tree_roots": [0, 2],
        "nodes_modes": tensor(TensorProto.UINT8, [0, 0, 0]),
        "nodes_featureids": [0, 1, 2],
        "nodes_splits": tensor(TensorProto.FLOAT, [0.5, 1.0, -0.5]),
        "nodes_truenodeids": [1, 0, 3],
        "nodes_trueleafs": [0, 1, 1],
        "nodes_falsenodeids": [1, 2, 4],
        "nodes_falseleafs": [1, 1, 1],
        "leaf_targetids": [0, 1, 0, 1, 0],
        "leaf_weights": tensor(TensorProto.FLOAT, _WEIGHTS),
    }


_VECTORS: Final[dict[str, Any]] = {
    "kernel_type": "RBF",
    "kernel_params": [0.1, 0.0, 3.0],
    "support_vectors": [0.1 * (place * 7 % 11) for place in range(12)],
}
TRAINED: Final[dict[str, dict[str, Any]]] = {
    "LinearRegressor": {"coefficients": [0.5, -1.0, 2.0, 1.5, 0.25, -0.5], "intercepts": [0.1, 0.2], "targets": 2},
    "SVMRegressor": {**_VECTORS, "coefficients": [0.5, -1.0, 0.75, 0.25], "rho": [0.1], "n_supports": 4},
    "TreeEnsembleRegressor": {**_leaves("target", [0, 1, 0, 1, 0]), "n_targets": 2},
    "TreeEnsemble": _grown(),
    "LinearClassifier": {
        "coefficients": [0.5, -1.0, 2.0, 1.5, 0.25, -0.5, 0.0, 1.0, -1.0],
        "intercepts": [0.1, 0.2, 0.3],
        "classlabels_ints": [5, 6, 9],
        "post_transform": "SOFTMAX",
    },
    "SVMClassifier": {
        **_VECTORS,
        "coefficients": [0.5, -1.0, 0.75, 0.25],
        "vectors_per_class": [2, 2],
        "rho": [0.1],
        "prob_a": [-1.0],
        "prob_b": [0.2],
        "classlabels_ints": [5, 6],
    },
    "TreeEnsembleClassifier": {**_leaves("class", [0, 1, 2, 1, 0]), "classlabels_strings": ["a", "b", "c"]},
}
"""Operators on rows, with what they were trained to."""

OUTPUTS: Final = {"LinearClassifier": 2, "SVMClassifier": 2, "TreeEnsembleClassifier": 2}
"""Of those that have several."""

PREPARING: Final[dict[str, list[dict[str, Any]]]] = {
    "Scaler": [{"offset": [1.0, 2.0, 0.5], "scale": [0.5, 2.0, 1.0]}, {"offset": [1.0], "scale": [2.0]}],
    "Imputer": [
        {"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": 0.0},
        {"imputed_value_floats": [7.0], "replaced_value_float": 0.0},
    ],
    "Binarizer": [{"threshold": 0.5}],
    "Normalizer": [{"norm": "L1"}, {"norm": "L2"}, {"norm": "MAX"}],
}
"""Operators on floats that keep their dims; the first has numbers for each feature, where there are such."""

CATEGORIES: Final[dict[str, list[dict[str, Any]]]] = {
    "LabelEncoder": [
        {"keys_int64s": [0, 1, 2], "values_floats": [0.5, 1.5, 2.5], "default_float": -1.0},
        {"keys_int64s": [0, 1, 2], "values_strings": ["a", "b", "c"]},
        {"keys_int64s": [0, 1, 2], "values_int64s": [7, 8, 9]},
    ],
    "CategoryMapper": [{"cats_int64s": [0, 1, 2], "cats_strings": ["a", "b", "c"]}],
    "OneHotEncoder": [{"cats_int64s": [0, 1, 2, 5]}],
}
"""Operators on integers."""


def version(op: str) -> int:
    """The version of the domain that has an operator, and that onnxruntime takes."""
    return 5 if op == "TreeEnsemble" else 3
