"""Settings for all tests: on a slow machine no example is too slow, and the same examples are tried every time."""

from hypothesis import settings

settings.register_profile("gate", deadline=None, derandomize=True, database=None)
settings.load_profile("gate")
