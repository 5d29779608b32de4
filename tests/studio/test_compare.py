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
    page.keyboard.press("Backspace")  # back into the sentence before
    expect(page.locator("#source")).to_have_text(first)
    expect(page.locator("#given li")).to_have_count(2)
    page.keyboard.press("3")
    expect(page.locator("#progress-text")).to_have_text("1 of 2")
    expect(page.locator("#source")).not_to_have_text(first)
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


def test_a_forced_choice_on_a_phone_and_undo_by_touch(
    browser: Browser, start: Callable[..., Service], tmp_path: Path
) -> None:
    lines = ['{"source": "one .", "outputs": {"a": "x .", "b": "y ."}}'] * 2
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    (tmp_path / "asked.jsonl").write_text('{"name": "fluency", "text": "Which reads better?"}')
    service = start("--compare", "items.jsonl", "--questions", "asked.jsonl", "--no-ties")
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{service.address}/compare?voter=cleo")
    expect(page.locator("#question")).to_have_text("Fluency. Which reads better?")
    expect(page.locator("[data-answer=tie]")).to_be_hidden()
    expect(page.locator("#take-back")).to_be_hidden()
    for done in ("1 of 2", "2 of 2"):
        page.tap("[data-answer=left]")
        expect(page.locator("#progress-text")).to_have_text(done)
    page.tap("#take-back")
    expect(page.locator("#question")).to_be_visible()
    page.tap("[data-answer=right]")
    expect(page.locator("#ending")).to_contain_text("Thank you")
    with sqlite3.connect(tmp_path / "votes.sqlite") as votes:
        assert [row[0] for row in votes.execute("SELECT answer FROM votes ORDER BY number")] == [
            "left",
            "left",
            "right",
        ]
    context.close()


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
    assert set(json.loads(answer.value.text())) == {
        "item", "source", "left", "right", "questions", "answers", "before", "ties", "done", "total",
    }  # fmt: skip
    page.close()
