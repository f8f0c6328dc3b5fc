"""How well the reports fit the mechanism, and how far made-up reports could move the estimates."""
