"""The evidence as a language model gets it: numbered facts and cards in a token budget, with a draft by the built-in writer."""
