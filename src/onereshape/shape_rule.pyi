from onereshape.backends.shape_rule import ReshapeRule as ReshapeRule, infer_model as infer_model, register as register
