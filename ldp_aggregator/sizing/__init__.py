"""What to expect of a survey before its launch: margins of its estimates, and accuracy of a model."""
