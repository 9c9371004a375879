"""The served models: configuration, loading, versions, execution and batching."""
