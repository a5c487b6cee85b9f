"""Runs one leg beside untrusted pull-request code. Holds no write token; never imports `bot`."""
