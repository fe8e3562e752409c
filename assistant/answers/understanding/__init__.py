"""What a question asks: the words people use, and the metrics, steps, stretches and runs they mean."""
