"""Talks to GitHub with a token. Never runs or renders what a pull request wrote; never imports `action`."""
