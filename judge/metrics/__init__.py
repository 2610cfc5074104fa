"""One family of metrics per file; every metric carries a signature."""
