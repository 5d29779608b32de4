"""A real Chromium on the real service, with the authors' small reference model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from studio.running import CHROMIUM, LAUNCH, Service
from syntagma.network.convert.authors import convert
from syntagma.network.storage import save_pretrained

expect.set_options(timeout=60_000)  # a busy machine is not a broken page

ITEMS = """\
{"source": "a first sentence .", "outputs": {"one": ["the first .", "first ."], "two": ["sentence one .", "one ."]}}
{"source": "هذه جملة .", "outputs": {"one": ["<b>bold</b> .", "x ."], "two": ["y .", "z ."]}}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser a module: it holds an event loop while it lives, which tests elsewhere must not meet."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed, so the studio is not tested (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(**LAUNCH)
        yield found
        found.close()


@pytest.fixture(scope="session")
def model(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authors' reference model, which knows ten sentences well."""
    files = [reference / name for name in ("tiny_checkpoint.pt", "tiny_dict.txt", "tiny_bpe.codes")]
    network, subwords = convert(*files)
    folder = tmp_path_factory.mktemp("studio") / "tiny"
    about = {"search": {"score": "mean", "first_level": "plain", "split": True}, "task": "paraphrase"}
    save_pretrained(folder, network, subwords, "# Tiny\n", about=about)
    return folder


@pytest.fixture(scope="module")
def service(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests that do not hurt it."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "items.jsonl").write_text(ITEMS, encoding="utf-8")
    running = Service(folder, "--compare", "items.jsonl", model=model)
    yield running
    running.kill()


@pytest.fixture
def start(model: Path, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start a separate service with those arguments."""
    started: list[Service] = []

    def run(*arguments: str) -> Service:
        started.append(Service(tmp_path, *arguments, model=model))
        return started[-1]

    yield run
    for running in started:
        running.kill()


class Tab:
    """A page of the studio, and what its console said."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.console: list[str] = []
        page.on("console", lambda message: self.console.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
        )

    def open(self, address: str) -> Tab:
        """Go to an address of the studio and wait until it is ready."""
        self.page.goto(address)
        expect(self.page.locator("body[data-ready]")).to_be_attached()
        return self

    def grow(self, text: str) -> str:
        """Grow a text to its end; what came out."""
        self.page.fill("#text", text)
        self.page.click("#grow")
        return self.finished()

    def finished(self) -> str:
        """Wait for the end; what came out."""
        expect(self.page.locator("#grow")).to_be_visible()
        expect(self.page.locator("#copies")).to_be_visible()
        return self.page.locator("#sentence").inner_text()

    def card(self, level: int, place: int = 0) -> str:
        """The selector of a context."""
        return f'.card[data-level="{level}"][data-place="{place}"]'

    def contexts(self) -> list[str]:
        """All contexts that are shown, from the top."""
        return self.page.locator(".card .context").all_inner_texts()

    def edit(self, level: int, context: str | None = None, pins: dict[int, str] | None = None) -> str:
        """Change a context and grow on; what came out."""
        self.page.click(self.card(level))
        if context is not None:
            self.page.fill("#edit-context", context)
        for label, words in (pins or {}).items():
            self.page.locator("#edit .pins input").nth(label - 1).fill(words)
        self.page.click("#grow-on")
        expect(self.page.locator("#edit")).to_be_hidden()
        return self.finished()


@pytest.fixture
def tab(browser: Browser, service: Service) -> Iterator[Tab]:
    """The studio in a fresh browser; afterwards its console must be empty."""
    context: BrowserContext = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    found = Tab(context.new_page()).open(service.address)
    yield found
    assert found.console == []
    context.close()
