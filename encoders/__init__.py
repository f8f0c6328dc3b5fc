"""What devices, collectors and trainers share: randomness, mechanisms, surveys and the report format.

All code that a device needs imports only the standard library and msgpack. The first function that processes
many rows imports numpy, see :mod:`encoders.lazy_numpy`.
"""

PROJECT = "ldp-bayes"
"""Marks this package, see :mod:`encoders.installation`."""

__version__ = "0.1.0"
"""The version of all packages; the build reads it here (``[tool.hatch.version]`` in pyproject.toml)."""
