"""Dimensionality reduction: how the weights of a public projection are found, at the operator's desk.

``fit`` takes public rows and finds them: by principal components (``pca``) or by discriminant components
(``dca``). ``learned`` takes class means that randomised reports told. The result is an
:class:`encoders.survey.projection.Projection`, which the survey publishes (``components``).

The device's half, applying the weights to a row, is not here but in ``encoders.survey.projection``: it
is part of coding a row, which both ends must agree on, and ``encoders`` imports no room above it.

No numpy is loaded until one of the modules is.
"""
