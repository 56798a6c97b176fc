"""The figures of the papers: points that are computed once and kept, intervals over seeds, pictures."""
