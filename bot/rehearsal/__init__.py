"""The embedded GitHub and what a rehearsal needs around it. Never part of a real run's path."""
