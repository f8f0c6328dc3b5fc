"""Layout of pages, cards and tables for the terminal: no statements, and no thresholds."""
