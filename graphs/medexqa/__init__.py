"""MedExQA: four-option questions with two reference explanations each, from five health specialties.

arXiv 2406.06331. This module is imported for every listing and must stay light.
"""
