"""Faults that real engines have had, to be injected by name: to look at them, and to test what finds them."""
