"""An embedded server with TF Serving's REST and gRPC APIs, and clients for both.

Nothing here imports TensorFlow, except to run SavedModels.
"""

DEFAULT_SIGNATURE = "serving_default"
PREDICT_METHOD, CLASSIFY_METHOD, REGRESS_METHOD = METHODS = (
    "tensorflow/serving/predict",
    "tensorflow/serving/classify",
    "tensorflow/serving/regress",
)
