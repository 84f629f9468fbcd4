"""How the array libraries are asked; none of them follows a specification."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from onereshape.backends.conformance.questions import Output, Question, Refused


def ask_numpy(question: Question) -> Output:
    """`numpy.reshape`."""
    try:
        output = np.reshape(question.elements, question.target)
    except ValueError as error:
        raise Refused(str(error)) from None
    return Output(output.shape, output.ravel())


def ask_torch(question: Question) -> Output:
    """`torch.reshape`."""
    torch = import_module("torch")
    data = torch.from_numpy(question.elements)
    try:
        output = torch.reshape(data, question.target)
    except (RuntimeError, TypeError) as error:
        raise Refused(str(error)) from None
    return Output(tuple(output.shape), output.flatten().numpy())


def ask_jax(question: Question) -> Output:
    """`jax.numpy.reshape`."""
    jax_numpy = import_module("jax.numpy")
    data = jax_numpy.asarray(question.elements)
    try:
        output = jax_numpy.reshape(data, question.target)
    except (TypeError, ValueError, ZeroDivisionError) as error:  # the last where a 0 stands beside -1
        raise Refused(str(error)) from None
    return Output(output.shape, np.asarray(jax_numpy.ravel(output)))
