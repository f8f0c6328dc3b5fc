"""The commands of a survey's author."""
