from onereshape.backends.onnx_backend import *
