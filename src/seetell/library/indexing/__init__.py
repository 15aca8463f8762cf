"""Indexing: scan → hash → describe → write, as stages that pass messages through bounded queues (`stages.py`)."""
