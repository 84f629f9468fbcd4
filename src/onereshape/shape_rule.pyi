from onereshape.backends.shape_rule import *
