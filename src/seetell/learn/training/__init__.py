"""Training: the loop, its data and its checkpoints, and the three things people do with them.

From the bottom up; each module imports only those above it in this list:

- `batching`, `augmentation`, `inputs`: batches of captions, and what a model reads of an image
- `task`: what the loop asks of a task
- `checkpoints`, `loop`, `curves`: training with exact resume
- `warm_start`, `words`, `features`, `data`: starting weights, vocabulary, encoded datasets
- `run`: a run's folder, opened
- then `seetell.learn.tasks`, and on top of it `train`, `evaluate` and `tune`
"""
