"""How another engine records a trace: copy one of these."""
