"""What a person does with what the search did not choose, and with large trees, in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from studio.conftest import Tab
from studio.test_studio import DREAM

SCALE = "svg => svg.getBoundingClientRect().width / svg.getAttribute('width')"
ROOT = """scroller => {
  const svg = scroller.querySelector('svg'), box = scroller.getBoundingClientRect();
  const root = [...svg.querySelectorAll('text')].at(-1).getBoundingClientRect();
  return [root.left >= box.left, root.right <= box.right];
}"""


def test_an_alternative_of_a_label_is_pinned_by_a_click(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    page.hover(f"{tab.card(1, 1)} [data-label='1']")
    row = page.locator("#inspector .gone").first
    words = row.locator(".became").evaluate("e => e.firstChild.textContent")
    row.hover()
    row.get_by_role("button", name="Pin").click()
    field = page.locator("#edit .pins input").nth(1)
    expect(field).to_be_focused()
    assert field.input_value().split()[0] in words
    pinned = field.input_value()
    page.click("#grow-on")
    expect(page.locator(".branch-tab")).to_have_count(2)
    tab.finished()
    expect(page.locator('.card.on-way[data-level="1"]')).to_contain_text("pinned by you")
    grown = page.locator('.card.on-way[data-level="2"] .context').inner_text()
    assert pinned.replace("<", "").replace(">", "").split()[0] in grown


def test_an_alternative_is_grown_on_from_also_where_it_was_kept(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    page.hover(f"{tab.card(1)} [data-label='1']")
    row = page.locator("#inspector .stayed").last
    row.hover()
    row.get_by_role("button", name="Grow").click()
    expect(page.locator("#edit-title")).to_contain_text("depth 4")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})  # where there is no inspector, the dialog has the same
    page.click(tab.card(1, 1))
    page.locator("#edit .edit-inspect summary").click()
    page.locator("#edit .gone").first.hover()
    page.locator("#edit .gone").first.get_by_role("button", name="Grow").click()
    expect(page.locator("#edit-title")).to_contain_text("depth 4")
    page.click("#grow-on")
    expect(page.locator(".branch-tab")).to_have_count(2)
    tab.finished()


def test_what_lost_is_seen_whole_at_1280_and_on_a_phone(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        box = page.locator('[data-row="2"] .lost')
        box.locator("summary").click()
        for item in box.locator("li").all():
            inside = item.evaluate("e => { const b = e.getBoundingClientRect(); return [b.left, b.right]; }")
            assert inside[0] >= 0
            assert inside[1] <= width
        box.locator("summary").click()


def test_a_finished_context_stands_once_and_then_as_a_line(tab: Tab) -> None:
    tab.page.fill("#beam-width", "16")
    tab.grow(DREAM)
    tab.page.click(tab.card(1))
    tab.page.fill("#edit-context", "i had <NP>")
    tab.page.locator("#edit .pins input").fill("a dream")
    tab.page.get_by_text("keep the other contexts").click()
    tab.page.click("#grow-on")  # it is finished one level later, the others are not
    expect(tab.page.locator(".branch-tab")).to_have_count(2)
    tab.finished()
    depths = [int(text.split()[-1]) for text in tab.page.locator(".depth").all_text_contents()]
    assert depths == list(range(1, len(depths) + 1))  # also where contexts only stay
    carried = tab.page.locator(".card.carried")
    assert carried.count() > 0
    heights = carried.evaluate_all("cards => cards.map(card => card.getBoundingClientRect().height)")
    assert max(heights) < 40
    assert all(tab.page.locator(".card.carried .score").evaluate_all("all => all.map(e => !e.offsetParent)"))


def test_a_tree_fits_the_width_is_zoomed_and_opens_at_the_root(tab: Tab) -> None:
    page = tab.page
    tab.grow(DREAM)
    scroller, svg = page.locator(".tree-scroll"), page.locator("#tree svg")
    fits = "e => e.scrollWidth <= e.clientWidth"
    assert scroller.evaluate(fits)
    page.set_viewport_size({"width": 390, "height": 844})
    assert scroller.evaluate(fits) or svg.evaluate(SCALE) < 0.6
    expect(scroller).to_be_visible()
    assert scroller.evaluate(ROOT) == [True, True]
    before = svg.evaluate(SCALE)
    for _ in range(3):
        page.get_by_role("button", name="Larger").click()
    assert svg.evaluate(SCALE) > 1.7 * before
    assert not scroller.evaluate(fits)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    tab.grow(f"{DREAM} ?")  # the size stays, the root is in sight
    assert svg.evaluate(SCALE) > 1.7 * before
    assert scroller.evaluate(ROOT) == [True, True]
    page.get_by_role("button", name="Smaller").click()
    page.get_by_role("button", name="Fit to the width").click()
    assert scroller.evaluate(fits) or svg.evaluate(SCALE) < 0.6


def test_the_focus_is_not_lost_by_growing(tab: Tab) -> None:
    page = tab.page
    tab.grow(DREAM)
    expect(page.locator("#grow")).to_be_focused()
    page.press("#text", "Enter")
    tab.finished()
    expect(page.locator("#text")).to_be_focused()


def test_no_line_begins_with_a_sign(tab: Tab) -> None:
    page = tab.page
    tab.grow(DREAM)
    tab.edit(1, "<NP> <VP> , right ?")
    lone = """contexts => contexts.flatMap(context => {
      const signs = [...context.querySelectorAll('.word')].filter(word => /^[.,?]$/.test(word.textContent));
      return signs.filter(sign => {
        const before = sign.previousElementSibling;
        return !before || sign.getBoundingClientRect().top > before.getBoundingClientRect().bottom;
      });
    }).length"""
    for width in (1280, 1150, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".card .word", has_text="?").count() > 0
        assert page.locator(".card .context").evaluate_all(lone) == 0
