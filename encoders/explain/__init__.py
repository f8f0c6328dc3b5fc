"""Explains in words what a report reveals: previews, likelihoods of the true answers, nonresponse."""
