"""Accuracy and time of training by a trusted curator, side by side with other libraries."""
