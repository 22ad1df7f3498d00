"""Recorded traces, how each was made, and examples of recording one from another engine."""
