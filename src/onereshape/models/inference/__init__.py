"""The shapes and the integers of a model, by symbolic inference on a copy of it."""
