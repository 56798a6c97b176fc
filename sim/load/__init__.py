"""The exact load of a converged tree, computed from who wants what instead of simulating events."""
