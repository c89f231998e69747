"""THE REQUIREMENTS: one short test per row of the catalogue, grouped by subject."""
