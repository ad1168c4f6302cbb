"""What a body looks like at GitHub, and that nothing of it does what only ours may do."""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt


def render(body: str) -> str:
    """Return the HTML of a body, as GitHub renders it as far as matters here."""
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body))


def does_nothing(body: str) -> None:
    """Fail if others' words in a body do anything; ours mention people whom the state names."""
    shown = render(body)
    for tag in re.findall(r"<(/?[a-zA-Z][^ >]*|!--)", shown):
        assert tag.strip("/") in TAGS, (tag, body)
    assert shown.count("<details>") == shown.count("</details>")
    assert shown.count("<!--") == len(re.findall("<!-- mak:", shown))
    for url in re.findall(r'(?:href|src)="([^"]*)"', shown):
        assert url.startswith("https://github.com/o/shop"), url
    spoken = html.unescape(re.sub(r"<code.*?</code>|<!--.*?-->|<[^>]*>", "", shown, flags=re.S))
    allowed = re.sub(r"@(?:alice|bob|carol)\b|(?:PR|Closes) #\d+", "", spoken)
    assert not re.search(r"@\w|#\d|://\w|www\.\w|GH-\d", allowed, re.IGNORECASE), allowed
    assert "ghp_a" not in html.unescape(shown)
    body.encode()


#: Of what is rendered; anything else came in with somebody's words.
TAGS = {
    *("h3", "p", "em", "strong", "a", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"),
    *("ul", "li", "s", "sub", "br", "details", "summary", "blockquote", "!--"),
}
