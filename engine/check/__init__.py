"""A recorded run held against models that are run here: its base's choices and its drafter's drafts, row by row."""
