"""Keeping a library current: scan folders, encode new images, write them in batches."""
