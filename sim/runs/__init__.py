"""A scenario played with real engines on virtual links, measured and written as rows."""
