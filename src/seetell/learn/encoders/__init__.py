"""Networks that turn images into features, and the store that keeps them."""

from seetell.learn.encoders.encoder import DEFAULT_ENCODER, Encoder
from seetell.learn.encoders.extract import EncodingReport, encode_dataset, open_stores
from seetell.learn.encoders.layouts import LAYOUTS, LayoutSpec
from seetell.learn.encoders.space import default_root
from seetell.learn.encoders.store import FeatureStore
from seetell.learn.encoders.store_spec import PRECISIONS, Precision, StoreSpec
from seetell.learn.encoders.transform import FullNetworkTransform, Principal, Standardise

__all__ = [
    "DEFAULT_ENCODER",
    "LAYOUTS",
    "PRECISIONS",
    "Encoder",
    "EncodingReport",
    "FeatureStore",
    "FullNetworkTransform",
    "LayoutSpec",
    "Precision",
    "Principal",
    "Standardise",
    "StoreSpec",
    "default_root",
    "encode_dataset",
    "open_stores",
]
