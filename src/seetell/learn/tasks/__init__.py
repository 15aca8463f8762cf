"""Tasks: a model with its data, loss, validation and evaluation."""
