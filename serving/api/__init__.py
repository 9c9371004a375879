"""What is said over the wire: TF Serving's REST and gRPC, its JSON, its protos, its metrics."""
