"""Further rounds of a survey: what some people's reports decide about what the others are asked.

Each person answers one round with one report, so that several rounds cost no one more epsilon. Each kind of
round has a module that decides and a module that writes the survey file: :mod:`learn` a projection that
separates the classes, :mod:`narrow` the survey to informative features, :mod:`validate` the model so far.
"""
