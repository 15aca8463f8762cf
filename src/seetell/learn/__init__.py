"""The PyTorch side: encoders and the feature store, losses, models, training, recipes and export.

Everything here needs the extra `learn`; nothing outside this package imports PyTorch.
"""

from importlib.util import find_spec

from seetell.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("PyTorch", "learn")
