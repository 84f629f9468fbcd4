"""HELD: the operators whose shape rule is believed.

Each is held against onnxruntime by the law of shapes (tests/laws/test_shapes.py), over a small world of attributes,
inputs that are constants or not, and sizes that are known, named or neither.  Of the outputs of any other operator
nothing is known, unless its specification gives a function, whose operators are.
"""

from __future__ import annotations

_ONNX = (
    "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization "
    "Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu "
    "CenterCropPad Clip Col2Im Compress Concat Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf "
    "Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid "
    "HardSwish Hardmax Identity If InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less "
    "LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool "
    "Mean MeanVarianceNormalization Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression "
    "NonZero Not OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal "
    "RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum "
    "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize "
    "ReverseSequence RoiAlign RotaryEmbedding Round STFT Scan Scatter ScatterElements ScatterND Selu Shape Shrink "
    "Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus "
    "Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu "
    "Unique Unsqueeze Upsample Where Xor"
).split()
_CONTRIBUTED = (
    "Attention BiasGelu FastGelu FusedMatMul Gelu MultiHeadAttention QLinearAdd QLinearConcat QLinearLeakyRelu "
    "QLinearMul QLinearSigmoid QLinearSoftmax QuickGelu SkipLayerNormalization SkipSimplifiedLayerNormalization"
).split()

HELD = frozenset({*(("", op) for op in _ONNX), *(("com.microsoft", op) for op in _CONTRIBUTED)})
"""Domain and operator."""
