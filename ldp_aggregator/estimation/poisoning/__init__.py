"""How well the reports fit the mechanism, and how far fabricated reports could move the estimates."""
