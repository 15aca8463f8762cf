"""Retrieval: images and captions in one embedding space."""
