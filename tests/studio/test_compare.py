"""The blind comparison in a real browser."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, expect

from studio.conftest import ITEMS, Tab
from studio.running import Service


def test_a_comparison_by_keyboard_alone(browser: Browser, start: Callable[..., Service], tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(ITEMS, encoding="utf-8")
    service = start("--compare", "items.jsonl", "--votes", "votes.sqlite")
    found = Tab(browser.new_page())
    page = found.page
    page.goto(f"{service.address}/compare?voter=anna")
    expect(page.locator("#question")).to_contain_text("Fidelity")
    first = page.locator("#source").inner_text()
    page.keyboard.press("1")
    expect(page.locator("#question")).to_contain_text("Novelty")
    page.keyboard.press("Backspace")
    expect(page.locator("#question")).to_contain_text("Fidelity")
    for key in ("ArrowRight", "2", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("#progress-text")).to_have_text("1 of 2")
    page.reload()  # it resumes where the voter stopped
    expect(page.locator("#progress-text")).to_have_text("1 of 2")
    assert page.locator("#source").inner_text() != first
    assert page.locator("#item b").count() == 1  # the question's name: a text with "<b>" is no markup
    service.kill()
    for key in ("3", "3", "3"):
        page.keyboard.press(key)
    expect(page.locator("#waiting")).to_contain_text("kept")
    service.start()
    expect(page.locator("#ending")).to_contain_text("Thank you")
    with sqlite3.connect(tmp_path / "votes.sqlite") as votes:
        stored = "\n".join(votes.iterdump())
    assert stored.count("anna") >= 2
    assert all("ERR_CONNECTION" in line for line in found.console)
    page.close()


def test_a_service_without_a_comparison_says_so(browser: Browser, start: Callable[..., Service]) -> None:
    service = start()
    page = browser.new_page()
    page.goto(f"{service.address}/compare")
    expect(page.locator("#notice")).to_have_text("This service was started without a comparison.")
    page.close()


def test_no_system_is_named(browser: Browser, service: Service) -> None:
    page = browser.new_page()
    with page.expect_response("**/v1/compare/next*") as answer:
        page.goto(f"{service.address}/compare?voter=bea")
    assert set(json.loads(answer.value.text())) == {"item", "source", "left", "right", "questions", "done", "total"}
    page.close()
