"""What a survey with waves shows: levels, changes, slopes and trends of all figures, and pooled tables.

People answer in one wave each, so estimates of different waves are independent.
"""
