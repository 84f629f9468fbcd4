"""Files: one module per file format, which knows how its bytes are laid out; formats do not know each other.

Tensors are read into a `tensor.Tensor`, models into a `model_data.ModelData` with its Reshapes; `tensor_files` and
`model` choose the format, the latter by the table in `model_formats`.  Reshapes alone are written from a `plan.Plan`.
"""
