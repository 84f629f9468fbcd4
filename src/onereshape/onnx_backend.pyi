from onereshape.backends.onnx_backend import (
    PreparedModel as PreparedModel,
    ReferenceReshape as ReferenceReshape,
    ReshapeBackend as ReshapeBackend,
    is_compatible as is_compatible,
    prepare as prepare,
    run_model as run_model,
    run_node as run_node,
    supports_device as supports_device,
)
