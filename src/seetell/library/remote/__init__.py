"""More than one machine: vectors on a Milvus server, encoding on a Ray cluster."""
