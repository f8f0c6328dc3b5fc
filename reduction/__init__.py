"""Dimensionality reduction: computes the weights of a public projection, on the operator's machine.

``fit`` computes them from public rows, by principal components (``pca``) or by discriminant components
(``dca``). The result is a :class:`encoders.survey.projection.Projection`, which the survey publishes
(``publish``).

The device applies the weights to a row in ``encoders.survey.projection``.

numpy is imported only when one of the modules is imported.
"""

from encoders import __version__

__all__ = ["__version__"]
