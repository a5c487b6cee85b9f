"""What each address of the embedded GitHub does. Routing, permissions and HTTP never belong here."""
