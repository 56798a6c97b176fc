"""What happens in a simulated world: objects that move and publish, areas of interest, and when hosts are there."""
