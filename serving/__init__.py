"""An embedded server that speaks TF Serving's REST and gRPC APIs, and clients for both.

Importing this package loads nothing heavy: `client.RestClient` runs without TensorFlow, `server.Server` loads it.
"""

DEFAULT_SIGNATURE = "serving_default"
