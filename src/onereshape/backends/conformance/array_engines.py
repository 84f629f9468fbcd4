"""How the array libraries are asked; none of them follows a specification."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from onereshape.backends.conformance.questions import EngineQuestion, EngineRefused, Output


def ask_numpy(question: EngineQuestion) -> Output:
    """`numpy.reshape`."""
    try:
        output = np.reshape(question.elements, question.target)
    except ValueError as error:
        raise EngineRefused(str(error)) from None
    return Output(output.shape, output.ravel())


def ask_torch(question: EngineQuestion) -> Output:
    """`torch.reshape`."""
    torch = import_module("torch")
    data = torch.from_numpy(question.elements)
    try:
        output = torch.reshape(data, question.target)
    except (RuntimeError, TypeError) as error:
        raise EngineRefused(str(error)) from None
    return Output(tuple(output.shape), output.flatten().numpy())


def ask_jax(question: EngineQuestion) -> Output:
    """`jax.numpy.reshape`."""
    jax_numpy = import_module("jax.numpy")
    data = jax_numpy.asarray(question.elements)
    try:
        output = jax_numpy.reshape(data, question.target)
    except (TypeError, ValueError, ZeroDivisionError) as error:  # the last where a 0 stands beside -1
        raise EngineRefused(str(error)) from None
    return Output(output.shape, np.asarray(jax_numpy.ravel(output)))
