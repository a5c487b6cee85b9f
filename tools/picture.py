"""Render a Markdown comment as GitHub would show it, and take its picture with headless Chromium.

usage: python tools/picture.py COMMENT.md PICTURE.png [--height PIXELS]

Needs `chromium` (a Debian package). For docs/ only; the product never renders HTML.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

STYLE = """
body { font: 14px/1.5 "Noto Sans", Helvetica, Arial, sans-serif; color: #1f2328; margin: 0; }
main { max-width: 900px; margin: 16px; border: 1px solid #d1d9e0; border-radius: 6px; padding: 12px 16px; }
table { border-collapse: collapse; } th, td { border: 1px solid #d1d9e0; padding: 4px 10px; vertical-align: top; }
code { background: #eff1f3; border-radius: 4px; padding: 1px 4px; font-size: 12px; }
pre { background: #f6f8fa; padding: 12px; border-radius: 6px; overflow: hidden; white-space: pre-wrap; }
pre code { background: none; }
blockquote { border-left: 4px solid #d1d9e0; margin: 0; padding-left: 12px; color: #59636e; }
"""


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("comment", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--height", type=int, default=1400)
    options = parser.parse_args()
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(options.comment.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        page.write_text(f"<meta charset=utf-8><style>{STYLE}</style><main>{body}</main>", encoding="utf-8")
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size=940,{options.height}",
                f"--screenshot={options.picture.absolute()}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


if __name__ == "__main__":
    main()
