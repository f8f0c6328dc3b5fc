"""The dashboard: its files and their routes; views/progress_page.py renders what it shows."""
