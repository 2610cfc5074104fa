"""Reports made from stored scores."""
