"""The training loop and what every run shares."""
