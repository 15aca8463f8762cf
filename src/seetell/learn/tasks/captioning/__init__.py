"""Captioning: sentences for images."""
