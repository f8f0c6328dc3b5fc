"""Further rounds of a survey: the reports of some people determine the questions to the others.

Each person answers one round with one report, so several rounds cost nobody more epsilon. For each kind of
round, one module decides and one module writes the survey file. :mod:`learn` asks about a projection that
separates the classes, :mod:`narrow` about informative features only; :mod:`validate` validates the model.
"""
