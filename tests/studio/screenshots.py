"""The studio's screenshots for docs/, with any model; run it again whenever the model or the page has changed.

From the repository: make screenshots, or python tests/studio/screenshots.py --model MODEL
Each state at 1280 pixels; the first also in dark and, as the texts alone and the comparison are, on a phone of 390.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, Page, expect, sync_playwright

from studio.running import CHROMIUM, LAUNCH, Service

SECONDS = 300_000.0
"""Milliseconds that a growth may take: the machine may be busy."""
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
TEXT = "Oil prices dropped sharply after the announcement."
PAIR = {
    "guided": ["He seems to have made a mistake.", "Did he make a mistake?", "It looks like a mistake of his."],
    "plain": ["It seems he made a mistake.", "It seems that he made a mistake.", "It seems he's made a mistake."],
}

CONTEXTS = ["<S>", "<NP> <VP> .", "Oil prices fell sharply <PP> .", "Oil prices fell sharply after <NP> ."]


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a bundled model's name or a model folder")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--edit", nargs=2, metavar=("LEVEL", "CONTEXT"), default=("1", "<NP> <VP> , right ?"))
    parser.add_argument("--template", default="(S (NP) (VP *) ...)")
    parser.add_argument("--beam", default="5")
    parser.add_argument("--out", type=Path, default=Path("docs"))
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("chromium is not installed; install it first (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        item = {"source": "It seems like he has made a mistake.", "outputs": PAIR}
        (folder / "items.jsonl").write_text("\n".join(json.dumps(item | {"id": str(at)}) for at in range(8)))
        model = Path(given.model).resolve() if Path(given.model).is_dir() else given.model
        task = {"source": given.text, "contexts": CONTEXTS, "output": "Oil prices fell sharply after the announcement."}
        (folder / "task.jsonl").write_text(json.dumps(task))
        service = Service(folder, "--compare", "items.jsonl", "--control-task", "task.jsonl", model=model)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(**LAUNCH)
                take(browser, service.address, given)
                browser.close()
        finally:
            service.kill()


def take(browser: Browser, address: str, given: Any) -> None:
    """Walk through the states."""
    out: Path = given.out
    page = browser.new_page(viewport=DESK, reduced_motion="reduce")
    page.goto(address)
    expect(page.locator("body[data-ready]")).to_be_attached()
    page.screenshot(path=out / "studio-welcome.png", clip={"x": 0, "y": 0, "width": DESK["width"], "height": 680})
    page.fill("#text", given.text)
    page.fill("#beam-width", given.beam)
    finish(page)
    point(page, 1)
    page.screenshot(path=out / "studio-grown.png", full_page=True)
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=out / "studio-dark.png", full_page=True)
    page.emulate_media(color_scheme="light")
    phone(page, out / "studio-phone.png", 1300)
    page.click("#view-texts")
    phone(page, out / "studio-texts-phone.png", 844)
    page.mouse.move(0, 0)
    page.screenshot(path=out / "studio-texts.png", clip={"x": 0, "y": 0, "width": DESK["width"], "height": 640})
    page.click("#view-growth")
    level, context = given.edit
    page.click(f'.card[data-level="{level}"][data-place="0"]')
    page.fill("#edit-context", context)
    page.screenshot(path=out / "studio-edit.png")
    page.click("#grow-on")
    finish(page, click=False)
    page.select_option("#beside", index=1)
    point(page, 3)
    page.screenshot(path=out / "studio-branches.png", full_page=True)
    page.click("#steer-toggle")
    page.fill("#template", given.template)
    page.check("input[value=hard]")
    finish(page)
    page.screenshot(path=out / "studio-template.png", full_page=True)
    page.goto(f"{address}/compare?voter=anna")
    expect(page.locator("#question")).to_be_visible()
    page.keyboard.press("1")
    page.set_viewport_size({"width": 1280, "height": 600})
    page.screenshot(path=out / "studio-compare.png")
    phone(page, out / "studio-compare-phone.png", 844)
    page.goto(f"{address}/control?annotator=anna")
    page.locator("#contexts label").nth(1).click()
    page.fill("#after", given.edit[1])
    page.screenshot(path=out / "studio-control.png", clip={"x": 0, "y": 0, "width": DESK["width"], "height": 640})
    page.close()


def phone(page: Page, path: Path, height: int) -> None:
    """The top of the page as a phone shows it."""
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(300)  # the lines and the tree follow the width
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": PHONE["width"], "height": height}, full_page=True)
    page.set_viewport_size(DESK)
    page.wait_for_timeout(300)


def point(page: Page, level: int) -> None:
    """Point at the context of a level that led to the text."""
    page.hover(f'.card.on-way[data-level="{level}"] .context')
    page.mouse.wheel(0, -10_000)


def finish(page: Page, click: bool = True) -> None:
    """Grow, and wait for the end."""
    if click:
        page.click("#grow")
    expect(page.locator("#stop")).to_be_hidden(timeout=SECONDS)
    expect(page.locator("#copies")).to_be_visible(timeout=SECONDS)


if __name__ == "__main__":
    main()
