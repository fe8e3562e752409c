"""How far a model may go in one answer."""

MODEL_CALLS = 4
TOOL_CALLS = 8
REPAIRS = 1
"""Times that a draft with wrong parts is sent back."""
TOO_WRONG = 0.5
"""Share of its sentences, or of its numbers, beyond which a draft is not shown."""
LONGEST_RESULT = 1500
"""Characters that a tool hands back."""
