"""Computes the weights of a public projection, on the operator's machine.

``fit`` computes them from public rows, by principal components (``pca``) or by discriminant components
(``dca``), and ``publish`` makes the Projection that devices apply, in ``encoders.survey.projection``.
"""

from encoders import __version__

__all__ = ["__version__"]
