"""A pass of Olive that frees the batch of an ONNX model with onereshape, and has it certified."""

from __future__ import annotations

from typing import Any

from olive.hardware import AcceleratorSpec
from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.passes import Pass
from olive.passes.onnx.common import get_external_data_config, ir_model_to_olive_model
from olive.passes.pass_config import BasePassConfig, PassConfigParam

import onereshape


class OnereshapeFreeBatch(Pass):
    """Frees the batch that an exporter baked into a model; a model that cannot be certified is refused."""

    @classmethod
    def _default_config(cls, accelerator_spec: AcceleratorSpec) -> dict[str, PassConfigParam]:
        del accelerator_spec  # the same for all
        return {
            "batch": PassConfigParam(
                type_=dict[str, int],
                default_value=None,
                description="The axis of the batch by input, such as {'pixel_values': 0}; without it, it is found.",
            ),
            "per_sample": PassConfigParam(
                type_=bool,
                default_value=False,
                description="Run a model that mixes its samples sample by sample, rather than refuse it.",
            ),
            "simplify": PassConfigParam(
                type_=bool, default_value=False, description="Simplify the Reshapes of the model as well."
            ),
            "certify": PassConfigParam(
                type_=bool, default_value=True, description="Compare the result with the original before it is kept."
            ),
            **get_external_data_config(),
        }

    def _run_for_config(
        self, model: ONNXModelHandler, config: type[BasePassConfig], output_model_path: str
    ) -> ONNXModelHandler:
        asked: Any = config
        fixed = onereshape.fix(
            model.load_ir_model(),
            batch=asked.batch or True,
            per_sample=asked.per_sample,
            simplify=asked.simplify,
            certify=asked.certify,
        )
        return ir_model_to_olive_model(fixed.model.ir, resolve_onnx_path(output_model_path), config)
