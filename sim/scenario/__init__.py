"""What a run depends on but its seed: a short TOML file, its tables and presets, and the world built from it."""
