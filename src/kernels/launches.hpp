// Launches of CUDA kernels that are remembered, as a type of Python.
#pragma once

#include <pybind11/pybind11.h>

namespace onereshape {

void define_launches(pybind11::module_& module);

}  // namespace onereshape
