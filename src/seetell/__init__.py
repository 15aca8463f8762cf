"""seetell: see images, tell them in words, find them by words."""

__version__ = "0.1.0"
