"""Words for people: text files with placeholders, and the values that fill them."""
