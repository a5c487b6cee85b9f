"""Whether the levels still fit the suites' trees: `bridge-e2e catalogue check`. No pull request is read here."""
