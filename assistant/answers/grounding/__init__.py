"""What an answer may rest on: numbered facts of the run and cards, for the built-in writer and, in a token budget, for a model."""
