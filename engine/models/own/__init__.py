"""Models of one's own: a GGUF file made into a folder like the bundled models', and kept by name."""
