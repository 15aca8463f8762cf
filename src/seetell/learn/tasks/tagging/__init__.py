"""Tagging: labels for images, as sequences or by a classifier."""
