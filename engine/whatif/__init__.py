"""Another bar and window over the rounds of a run: where it would have fallen back, and what that costs or saves."""
