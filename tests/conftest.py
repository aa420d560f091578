"""Settings that all tests share."""

from hypothesis import settings

# The first example of a test may have to compile a kernel; and a test that fails must fail for everybody.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
