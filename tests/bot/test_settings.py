from pathlib import Path

import pytest

from bot.settings import api_url, read
from levels.errors import UsageError

GITHUB = "https://github.com"


def test_the_token_is_in_no_representation() -> None:
    settings = read({"GITHUB_TOKEN": "ghs_secret", "GITHUB_REPOSITORY": "o/r"})
    assert settings.token == "ghs_secret"
    assert "ghs_secret" not in repr(settings)


def test_an_empty_environment_has_defaults() -> None:
    settings = read({})
    assert (settings.repository, settings.run_attempt, settings.bot_login) == ("", 1, "github-actions[bot]")
    assert settings.run_url is None
    assert settings.api_url == "https://api.github.com"


def test_a_workflow_run_has_a_page() -> None:
    settings = read({"GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7", "GITHUB_OUTPUT": "out"})
    assert settings.run_url == "https://github.com/o/r/actions/runs/7"
    assert settings.output == Path("out")


@pytest.mark.parametrize(
    ("commit", "expected"),
    [
        pytest.param("a" * 40, "a" * 40, id="commit"),
        pytest.param("", None, id="empty-in-a-local-run"),
        pytest.param("main", None, id="branch"),
        pytest.param("a" * 40 + "\n", None, id="newline-after-it"),
    ],
)
def test_our_own_commit_is_a_commit_or_unknown(commit: str, expected: str | None) -> None:
    assert read({"BRIDGE_E2E_COMMIT": commit}).product_commit == expected


@pytest.mark.parametrize(
    ("url", "server"),
    [
        pytest.param("https://api.github.com", GITHUB, id="github"),
        pytest.param("https://api.github.com/", GITHUB, id="final-slash"),
        pytest.param("https://ghe.example.com/api/v3", "https://ghe.example.com", id="own-server"),
        pytest.param("http://127.0.0.1:8123", GITHUB, id="loopback"),
        pytest.param("http://localhost:8123/api/v3", GITHUB, id="localhost"),
        pytest.param("http://[::1]:8123", GITHUB, id="loopback-v6"),
    ],
)
def test_an_address_the_token_may_go_to(url: str, server: str) -> None:
    assert api_url(url, server) == url.rstrip("/")


@pytest.mark.parametrize(
    ("url", "server"),
    [
        pytest.param("https://evil.example", GITHUB, id="elsewhere"),
        pytest.param("http://api.github.com", GITHUB, id="without-tls"),
        pytest.param("https://api.github.com@evil.example", GITHUB, id="github-as-user-name"),
        pytest.param("https://api.github.com.evil.example", GITHUB, id="github-as-prefix"),
        pytest.param("https://evil.example/api/v3", GITHUB, id="another-server"),
        pytest.param("http://ghe.example.com/api/v3", "http://ghe.example.com", id="own-server-without-tls"),
        pytest.param("http://127.0.0.1@evil.example", GITHUB, id="loopback-as-user-name"),
        pytest.param("http://127.0.0.1.evil.example", GITHUB, id="loopback-as-prefix"),
        pytest.param("http://user@127.0.0.1:1", GITHUB, id="user-on-loopback"),
        pytest.param("file:///etc/passwd", GITHUB, id="file"),
    ],
)
def test_the_token_goes_nowhere_else(url: str, server: str) -> None:
    with pytest.raises(UsageError, match="GITHUB_API_URL"):
        api_url(url, server)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("GITHUB_REPOSITORY", "o/r/../x", id="repository"),
        pytest.param("GITHUB_REPOSITORY", "o/r\n", id="repository-newline"),
        pytest.param("GITHUB_RUN_ID", "7x", id="run-id"),
        pytest.param("GITHUB_RUN_ATTEMPT", "²", id="digit-that-is-no-number"),
    ],
)
def test_what_cannot_be_right_is_refused(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        read({name: value})
