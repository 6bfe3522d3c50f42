"""Settings of hypothesis: examples are random, and the same on every machine."""

from hypothesis import settings

settings.register_profile("eagre", deadline=None, derandomize=True)
settings.load_profile("eagre")
