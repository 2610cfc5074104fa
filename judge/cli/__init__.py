"""The command line, one file per group of commands; modules here import what is heavy inside their functions."""
