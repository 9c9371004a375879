"""TF Serving's protocols: REST and gRPC, JSON, protos and metrics."""
