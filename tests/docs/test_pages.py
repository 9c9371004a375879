"""What holds for every page: it is short, and its links lead somewhere."""

import re

import pytest
from support.pages import DOCS, PAGES, ROOT, text_of

LONGEST = {"README.md": 110}  # lines; 250 for all others


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_short_and_its_links_lead_somewhere(page):
    text, home = text_of(page), ROOT if page == "README.md" else (DOCS / page).parent
    assert len(text.splitlines()) <= LONGEST.get(page, 250)
    for address in re.findall(r"\]\(([^)\s]+)\)", text):
        if not address.startswith(("http://", "https://")):
            path, _, anchor = address.partition("#")
            target = (home / path).resolve() if path else home / page
            assert not path or target.exists(), address
            assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), address
