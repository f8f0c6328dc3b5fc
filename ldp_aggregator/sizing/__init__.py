"""What to expect of a survey before its launch: how exact figures would be, and how well a model would do."""
