"""The built-in writer: one module for each kind of answer; `writer` chooses."""
