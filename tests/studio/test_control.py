"""The experiment on partial control in a real browser."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from studio.conftest import Tab
from studio.running import Service
from studio.test_studio import DREAM, weak_texts

CONTEXTS = ["<S>", "<NP> <VP>", "<NP> had <NP> <PP>"]


@pytest.fixture
def service(start: Callable[..., Service], tmp_path: Path) -> Service:
    items = [{"id": str(number), "source": DREAM, "contexts": CONTEXTS} for number in range(2)]
    (tmp_path / "task.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    return start("--control-task", "task.jsonl", "--votes", "votes.sqlite")


def change(page: Page, place: int, after: str) -> None:
    """Edit a context and have the model go on from it."""
    page.locator("#contexts label").nth(place).click()
    expect(page.locator("#after")).to_have_value(CONTEXTS[place])
    page.fill("#after", after)
    page.click("#generate")
    expect(page.locator("#question")).to_be_visible()


def test_an_edit_is_answered_and_judged_and_a_judgement_can_be_undone(
    browser: Browser, service: Service, tmp_path: Path
) -> None:
    found = Tab(browser.new_page())
    page = found.page
    page.goto(f"{service.address}/control?annotator=anna")
    expect(page.locator("#progress-text")).to_have_text("0 of 2")
    expect(page.locator("#contexts .chip")).to_have_text(["S", "NP", "VP", "NP", "NP", "PP"])
    expect(page.locator("#after")).to_be_focused()
    expect(page.locator("#generate")).to_be_disabled()  # nothing is changed yet
    change(page, 1, "<NP> <VP> , right ?")
    expect(page.locator("#asked .new")).to_have_text([",", "right", "?"])
    expect(page.locator("#asked-title")).to_have_text("You asked for")
    assert page.locator("#output").inner_text().endswith(", right?")
    page.reload()  # it resumes where the annotator stopped
    expect(page.locator("#question")).to_be_visible()
    page.keyboard.press("2")
    expect(page.locator("#progress-text")).to_have_text("1 of 2")
    page.click("#take-back")
    expect(page.locator("#output")).to_contain_text(", right?")
    page.keyboard.press("1")
    expect(page.locator("#edit")).to_be_visible()
    page.keyboard.type(" 1")  # digits in the field are no answer
    expect(page.locator("#after")).to_have_value("<S> 1")
    service.kill()
    page.fill("#after", "<S> , right ?")
    page.click("#generate")
    expect(page.locator("#waiting")).to_contain_text("kept")
    service.start()
    expect(page.locator("#question")).to_be_visible()
    page.click("[data-followed=true]")
    expect(page.locator("#ending")).to_contain_text("Thank you")
    page.goto(f"{service.address}/control?annotator=bob")
    for _ in CONTEXTS[:2]:
        change(page, 2, "we <VP>")
        page.click("[data-followed=false]")
    expect(page.locator("#asked-title")).to_have_text("Another annotator asked for")
    with sqlite3.connect(tmp_path / "votes.sqlite") as votes:
        judged = list(votes.execute("SELECT annotator, edit, followed FROM judgements ORDER BY number"))
    assert judged[:3] == [("anna", 1, 0), ("anna", 1, 1), ("anna", 2, 1)]
    assert all("ERR_CONNECTION" in line for line in found.console)
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_is_readable(browser: Browser, service: Service, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{service.address}/control?annotator=cleo")
    expect(page.locator("#after")).to_be_visible()
    for state in ("edit", "judge"):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert weak_texts(page) == []
        if state == "edit":
            change(page, 1, "<NP> <VP> , right ?")
    context.close()


def test_a_wrong_edit_is_said_and_kept(browser: Browser, service: Service) -> None:
    page = browser.new_page()
    page.goto(f"{service.address}/control?annotator=dora")
    page.fill("#after", "<QP> <VP>")
    page.click("#generate")
    expect(page.locator("#notice")).to_contain_text("QP")
    expect(page.locator("#after")).to_have_value("<QP> <VP>")
    expect(page.locator("#generate")).to_be_enabled()
    page.close()


def test_a_service_without_a_task_says_so(browser: Browser, start: Callable[..., Service]) -> None:
    page = browser.new_page()
    page.goto(f"{start().address}/control")
    expect(page.locator("#notice")).to_have_text("This service was started without a control task.")
    page.close()
