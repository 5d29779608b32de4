"""What a person does in the studio, done in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from studio.conftest import Tab
from studio.running import Service

DREAM = "i had a dream yesterday and it was about you"
TELL = "did we find anything to charge this kid with ?"


def test_levels_arrive_one_by_one_and_the_winner_is_marked(tab: Tab) -> None:
    page = tab.page
    page.evaluate(  # what a person sees while it grows, and what a screen reader is told
        """() => {
          window.rows = [];
          window.said = [];
          new MutationObserver(() => rows.push(document.querySelectorAll('.level').length))
            .observe(document.getElementById('beam'), {childList: true});
          new MutationObserver(() => said.push(document.getElementById('announcer').textContent))
            .observe(document.getElementById('announcer'), {childList: true});
        }"""
    )
    text = tab.grow(DREAM)
    assert text == "i had a dream about you yesterday"
    levels = page.locator(".level").count()
    assert levels == 7
    assert set(page.evaluate("rows")) >= set(range(2, levels + 1))
    assert any(said.startswith("Depth 3: 5 contexts") for said in page.evaluate("said"))
    on_way = page.locator(".card.on-way")
    assert on_way.count() == levels
    assert on_way.last.locator(".context").inner_text() == text
    assert page.locator(".line.on-way").count() == levels - 1
    assert page.locator(".line").count() >= levels - 1
    assert page.locator("#tree svg text").all_text_contents().count("NP") == 5
    shares = page.eval_on_selector_all(".bar-fill", "bars => bars.map(b => +b.style.getPropertyValue('--share'))")
    assert max(shares) == 1
    assert min(shares) > 0


def test_of_several_sentences_one_grows_at_a_time(tab: Tab) -> None:
    page = tab.page
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.post_data_json["text"]) if "v1/stream" in one.url else None)
    first, second = f"{DREAM}.", "Did we find anything to charge this kid with?"
    tab.grow(f"{first} {second}")
    choices = page.locator("#sentences button")
    expect(choices).to_have_text([first, second])
    assert [choice.get_attribute("aria-pressed") for choice in choices.all()] == ["true", "false"]
    choices.nth(1).click()
    expect(choices.nth(1)).to_have_attribute("aria-pressed", "true")
    tab.finished()
    assert asked == [first, second]
    page.click("#undo")
    expect(page.locator("#text")).to_have_value(first)
    expect(page.locator("#sentences")).to_be_hidden()
    tab.grow(DREAM)
    expect(page.locator("#sentences")).to_be_hidden()


def test_no_text_is_cut_and_none_is_ignored_in_silence(tab: Tab) -> None:
    page = tab.page
    long = "Word " * 100 + "end."
    page.fill("#text", f"{DREAM}. {long}")
    assert page.input_value("#text") == f"{DREAM}. {long}"
    expect(page.locator("#count")).to_have_text("550 characters; a sentence may have 400")
    page.click("#grow")
    expect(page.locator("#notice")).to_contain_text("has 504 characters and may have 400")
    sentences = [f"I had a dream {n} days ago and it was about you." for n in range(9)]
    tab.grow(" ".join(sentences))
    expect(page.locator("#sentences button")).to_have_text(sentences)
    assert len(" ".join(sentences)) > 400
    page.fill("#text", "  ")
    page.click("#grow")
    expect(page.locator("#notice")).to_contain_text("no text yet")
    page.evaluate("location.hash = 's=broken'")
    expect(page.locator("#notice")).to_contain_text("link cannot be read")


def test_the_texts_alone_have_what_changed_marked(tab: Tab) -> None:
    best = tab.grow(DREAM)
    page = tab.page
    page.click("#view-texts")
    expect(page.locator("#beam-section")).to_be_hidden()
    texts = page.locator("#glance li .sentence")
    assert 2 <= texts.count() <= 5
    expect(texts.first).to_have_text(best)
    assert page.locator("#glance li").first.locator("mark").all_inner_texts() == ["yesterday"]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#glance button", has_text="Copy").nth(1).click()
    other = texts.nth(1).inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == other
    page.locator("#glance button", has_text="How it grew").nth(1).click()
    expect(page.locator("#sentence")).to_have_text(other)
    expect(page.locator("#beam-section")).to_be_visible()


def test_the_texts_alone_are_five_whatever_the_beam(tab: Tab) -> None:
    page = tab.page
    asked: list[tuple[int | None, int | None]] = []

    def note(request: Request) -> None:
        if request.url.endswith("/v1/stream"):
            asked.append((request.post_data_json.get("beam"), request.post_data_json.get("nbest")))

    page.on("request", note)
    texts = page.locator("#glance li .sentence")
    page.click("#steer-toggle")
    page.fill("#beam-width", "2")
    tab.grow(DREAM)
    expect(texts).to_have_count(2)
    page.click("#view-texts")
    expect(texts).to_have_count(5)
    page.click("#undo")
    expect(texts).to_have_count(2)
    page.fill("#beam-width", "5")
    page.click("#grow")
    expect(texts).to_have_count(5)
    assert asked == [(2, None), (2, 5), (None, 5)]


def test_the_texts_alone_of_several_sentences_are_of_all_of_them(tab: Tab) -> None:
    page = tab.page
    page.click("#view-texts")
    first, second = f"{DREAM}.", "Did we find anything to charge this kid with?"
    page.fill("#text", f"{first} {second}")
    page.click("#grow")
    texts = page.locator("#glance li .sentence")
    expect(texts.first).to_be_visible()
    assert page.locator("#glance .source").inner_text() == f"{first} {second}"
    shown = texts.all_inner_texts()
    assert 2 <= len(shown) <= 5
    assert all("dream" in text for text in shown)
    page.locator("#glance button", has_text="How it grew").first.click()
    best = tab.finished()
    assert shown[0].startswith(best)
    page.locator("#sentences button").nth(1).click()
    expect(page.locator("#sentences button").nth(1)).to_have_attribute("aria-pressed", "true")
    assert shown[0] == f"{best} {tab.finished()}"
    tab.edit(1, "<NP> <VP> , right ?")  # an edit is of one sentence, and so are the texts then
    page.click("#view-texts")
    expect(page.locator("#glance .source")).to_have_text(second)


def test_a_newcomer_is_told_what_to_do_and_what_a_label_is(tab: Tab) -> None:
    page = tab.page
    expect(page.locator("#invitation")).to_contain_text("Type a sentence. It comes back in other words")
    expect(page.locator(".how li")).to_have_count(4)
    told = page.evaluate(
        """async () => {
          const { invitation } = await import('./studio/purpose.js');
          return invitation({ source_language: 'zh', target_language: 'en' });
        }"""
    )
    assert told.startswith("Type a sentence in Chinese. It comes back in English")
    page.locator("#examples button").first.click()
    tab.finished()
    expect(page.locator("#welcome")).to_be_hidden()


def test_everything_can_be_touched_on_a_phone(browser: Browser, service: Service) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    found = Tab(context.new_page()).open(service.address)
    page = found.page
    small = """() => [...document.querySelectorAll('button, select, summary, input:not([type=radio], [type=range])')]
      .filter(e => e.checkVisibility()).map(e => [e.id || e.textContent, e.getBoundingClientRect()])
      .filter(([, box]) => box.width < 44 || box.height < 44).map(([name]) => name)"""
    assert page.evaluate(small) == []
    page.tap("#steer-toggle")
    page.tap("#examples button")
    found.finished()
    assert page.evaluate(small) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.tap("#open-help")
    expect(page.locator("#help .actions button")).to_be_in_viewport()  # without scrolling
    context.close()


def test_the_page_says_what_the_model_does_and_which_script_it_reads(tab: Tab) -> None:
    page = tab.page
    expect(page.locator("#purpose")).to_have_text("Says a sentence in other words")
    told = page.evaluate(
        """async () => {
          const { misfit, purposeOf, samplesOf } = await import('./studio/purpose.js');
          const [en, zh] = ['en', 'zh'].map(code => ({ source_language: code, target_language: 'en' }));
          return [purposeOf(en), purposeOf(zh), samplesOf(zh)[0], misfit(en, 'هذه جملة'), misfit(en, 'café, 2'),
            misfit(zh, 'hello')];
        }"""
    )
    assert told[:3] == ["Paraphrases English", "Chinese to English", "他好像犯了一个错误。"]
    assert "reads English" in told[3]
    assert told[4] is None
    assert "reads Chinese" in told[5]


def test_a_text_in_another_script_is_returned_unchanged_at_once(browser: Browser, model: Path, tmp_path: Path) -> None:
    service = Service(tmp_path, model=shutil.copytree(model, tmp_path / "paraphrase-en"))
    try:
        found = Tab(browser.new_page()).open(service.address)
        page = found.page
        text = found.grow(DREAM)
        page.fill("#text", "Это моя книга.")
        expect(page.locator("#script")).to_contain_text("reads English")
        page.click("#grow")
        expect(page.locator("#sentence")).to_have_text("Это моя книга.")
        expect(page.locator("#status")).to_have_text(
            re.compile("^Returned unchanged: the model reads English, .*script.$")
        )
        expect(page.locator("#beam-section")).to_be_hidden()
        page.click("#undo")
        expect(page.locator("#sentence")).to_have_text(text)
        expect(page.locator("#beam-section")).to_be_visible()
        page.fill("#text", "Beijing is 北京.")
        expect(page.locator("#script")).to_be_hidden()
        assert found.console == []
        page.close()
    finally:
        service.kill()


def test_pointing_at_a_label_shows_what_it_became_and_what_lost(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    page.hover(f"{tab.card(1)} [data-label='1']")
    inspector = page.locator("#inspector")
    expect(inspector).to_contain_text("Its labels became")
    assert inspector.locator(".stayed .became").first.inner_text().startswith("had")
    assert page.locator(f"{tab.card(2)} .lit").first.inner_text() == "had"
    page.hover(f"{tab.card(1, 1)} [data-label='1']")
    expect(inspector.locator(".gone .why").first).to_contain_text("behind")
    page.hover(tab.card(2))
    expect(inspector.locator(".losers .behind").first).to_contain_text("behind")


def test_the_figure_that_decided_is_shown_and_why_others_vanished(tab: Tab) -> None:
    page = tab.page

    def ask_for_order(route: Route) -> None:
        """Reranked, and one of what was lost was a copy."""
        answer = route.fetch(post_data={**route.request.post_data_json, "rerank": "joint"}).text()
        route.fulfill(
            content_type="text/event-stream", body=answer.replace('"reason": "outscored"', '"reason": "copies it"', 1)
        )

    page.route("**/v1/stream", ask_for_order)
    tab.grow(DREAM)
    figures = [float(one.replace("\u2212", "-")) for one in page.locator("#outputs .figure").all_inner_texts()]
    assert figures == sorted(figures, reverse=True)
    expect(page.locator("#status")).to_contain_text("joint reranker")
    expect(page.locator("#order")).to_contain_text("by the reranker")
    reasons = page.locator(".lost .behind").all_text_contents()
    assert "copies it" in reasons
    assert any(reason.endswith(" behind") for reason in reasons)
    page.click("#open-help")
    expect(page.locator("#help")).to_contain_text("copies the source")
    page.click("#help button")
    expect(page.locator("#help")).to_be_hidden()


def test_the_explanation_opens_in_a_tab_with_its_styles(tab: Tab) -> None:
    tab.grow(DREAM)
    with tab.page.expect_popup() as opened:
        tab.page.click("#explain")
    why = opened.value
    expect(why.locator("h1")).to_have_text("i had a dream about you yesterday")
    anchors = "e => getComputedStyle(e).textAnchor"
    assert why.eval_on_selector(".tree text", anchors) == "middle"
    assert why.eval_on_selector(".beam text", anchors) == "start"
    crossings = why.evaluate(
        """() => {
          const texts = [...document.querySelectorAll('.beam text')].map(e => e.getBBox());
          const hit = (p, b) => p.x > b.x && p.x < b.x + b.width && p.y > b.y && p.y < b.y + b.height;
          return [...document.querySelectorAll('.beam path')].filter(path => {
            const length = path.getTotalLength();
            for (let at = 0; at <= length; at += 2)
              if (texts.some(box => hit(path.getPointAtLength(at), box))) return true;
            return false;
          }).length;
        }"""
    )
    assert crossings == 0
    why.close()


def test_what_lost_can_be_grown_on_from(tab: Tab, browser: Browser) -> None:
    best = tab.grow(DREAM)
    page = tab.page
    page.hover(tab.card(2))
    lost = page.locator("#inspector .loser").first
    context = lost.locator(".context").inner_text()
    lost.click()
    expect(page.locator("#edit-title")).to_contain_text("depth 4")
    page.click("#grow-on")
    expect(page.locator(".branch-tab")).to_have_count(2)
    other = tab.finished()
    assert other != best
    grown = page.locator('.card.on-way[data-level="2"] .context')
    expect(grown).to_have_text(context)
    again = Tab(browser.new_context(viewport={"width": 1280, "height": 900}).new_page()).open(page.url)
    expect(again.page.locator(".branch-tab")).to_have_count(2)
    assert again.finished() == other
    again.page.context.close()


def test_another_output_of_the_beam_can_be_chosen(tab: Tab) -> None:
    best = tab.grow(DREAM)
    tab.page.locator("#outputs button").nth(2).click()
    other = tab.page.locator("#sentence").inner_text()
    assert other != best
    last = tab.page.locator(".card.on-way").last
    assert last.get_attribute("data-place") != "0"
    assert tab.page.locator(".card.on-way").count() == tab.page.locator(".level").count()


def test_an_edited_context_changes_the_end_and_can_be_undone(tab: Tab) -> None:
    before = tab.grow(DREAM)
    page = tab.page
    after = tab.edit(1, "<NP> <VP> , right ?")
    assert after != before
    assert after.endswith(", right?")
    expect(page.locator(f"{tab.card(1)} .tag")).to_have_text("edited by you")
    expect(page.locator("#before")).to_contain_text(before)
    page.select_option("#beside", index=1)
    expect(page.locator("#comparison .verdict")).to_have_text([before, after])
    assert page.locator("#comparison tr.differs").count() >= 4
    page.click("#undo")
    assert page.locator("#sentence").inner_text() == before
    assert page.locator(".branch-tab").count() == 0
    page.click("#redo")
    assert page.locator("#sentence").inner_text() == after
    page.locator(".branch-tab").first.click()  # the earlier branch has stayed
    assert page.locator("#sentence").inner_text() == before


def test_an_edit_stays_when_its_context_is_changed_again(tab: Tab, browser: Browser) -> None:
    tab.grow(DREAM)
    tab.edit(1, "<NP> <VP> , right ?")
    after = tab.edit(1, pins={1: "you"})
    assert after.startswith("you")
    assert after.endswith(", right?")
    page = tab.page
    page.click(tab.card(1))
    expect(page.locator("#edit .pins input").first).to_have_value("you")
    page.fill("#edit-forbid", "yesterday")
    page.click("#grow-on")
    expect(page.locator(".branch-tab")).to_have_count(4)
    last = tab.finished()
    assert last.startswith("you")
    assert last.endswith(", right?")
    assert "yesterday" not in last
    again = Tab(browser.new_context(viewport={"width": 1280, "height": 900}).new_page()).open(page.url)
    expect(again.page.locator(".branch-tab")).to_have_count(4)
    assert again.finished() == last
    again.page.context.close()


def test_a_changed_start_stays_when_it_is_changed_again(tab: Tab) -> None:
    tab.grow(DREAM)
    tab.edit(-1, "<NP> <VP> , right ?")
    after = tab.edit(-1, pins={1: "you"})
    assert after.startswith("you")
    assert after.endswith(", right?")


def test_a_pin_is_obeyed_and_a_word_forbidden(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    assert tab.edit(1, pins={1: "you"}).startswith("you ")
    page.click("#undo")
    page.click(tab.card(1))
    page.fill("#edit-forbid", "yesterday")
    page.click("#grow-on")
    expect(page.locator(".branch-tab")).to_have_count(2)
    assert "yesterday" not in tab.finished()


def test_wishes_reach_the_search_and_the_beam_may_compete(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    page.click(tab.card(1))
    page.fill("#edit-require", "husband")
    page.locator(".label-wishes label", has_text="PP").locator("select").select_option("require")
    page.get_by_label("keep the other contexts of this depth beside it").check()
    page.click("#grow-on")
    expect(page.locator(".branch-tab")).to_have_count(2)
    assert "husband" in tab.finished()
    assert page.locator(".card.left-out").count() == 0
    assert any("PP" in context for context in page.locator('.card[data-level="2"] .context').all_inner_texts())
    assert page.locator(".card.on-way").count() == page.locator(".level").count()


def test_a_growth_can_be_stopped_and_gone_on_from(tab: Tab) -> None:
    page = tab.page
    page.route("**/v1/stream", lambda route: None, times=1)  # an answer that never comes
    page.fill("#text", DREAM)
    page.click("#grow")
    page.click("#stop")
    expect(page.locator("#welcome")).to_be_visible()  # nothing had grown
    assert tab.grow(DREAM) == "i had a dream about you yesterday"


def test_a_context_is_edited_by_keyboard_alone(tab: Tab) -> None:
    tab.grow(DREAM)
    page = tab.page
    page.locator(tab.card(-1)).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(tab.card(1))).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#edit-context")).to_be_focused()
    page.keyboard.type(" , right ?")
    page.keyboard.press("Enter")
    expect(page.locator(".branch-tab")).to_have_count(2)
    assert tab.finished().endswith(", right?")
    expect(page.locator('.card.on-way[data-level="2"]')).to_be_focused()


def test_a_hard_template_is_obeyed_and_every_level_marked(tab: Tab) -> None:
    page = tab.page
    page.click("#steer-toggle")
    page.fill("#template", "(S (NP) (VP))")
    page.check("input[value=hard]")
    expect(page.locator("#template-tree svg")).to_be_visible()
    tab.grow(DREAM)
    assert shape(tab) == "(TOP (S (NP) (VP)))"
    assert page.locator(".card .tag-match").count() == page.locator(".card:not(.start)").count()


def test_a_soft_template_marks_what_fits(tab: Tab) -> None:
    page = tab.page
    page.click("#steer-toggle")
    page.fill("#template", "(S (NP) (VP *))")
    tab.grow(DREAM)
    assert 0 < page.locator(".card .tag-match").count() < page.locator(".card:not(.start)").count()


def test_a_template_is_drawn_by_clicks_or_taken_from_a_sentence(tab: Tab) -> None:
    page = tab.page
    page.click("#steer-toggle")
    page.click("#builder button[aria-label='add S']")
    page.click("#builder button[aria-label='add NP']")
    page.click("#builder button[aria-label='add VP']")
    assert page.input_value("#template") == "(S (NP) (VP))"
    page.fill("#exemplar", "Did he really do it?")
    page.click("#take-shape")
    expect(page.locator("#template")).to_have_value(re.compile(r"^\(.*VP.*\)$"))
    expect(page.locator("#template-tree svg")).to_be_visible()


def shape(tab: Tab) -> str:
    """The brackets of the tree without its words, as they are copied."""
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.click("#copies button:has-text('brackets')")
    brackets: str = tab.page.evaluate("navigator.clipboard.readText()")
    return re.sub(r" (?!\()[^()\s]+", "", brackets)


def test_copies_are_whole(tab: Tab) -> None:
    text = tab.grow(DREAM)
    assert shape(tab).startswith("(TOP (S (NP) (VP")
    page = tab.page
    page.click("#copies button:has-text('JSON')")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["settings"]["text"] == DREAM
    assert copied["hypotheses"][0]["text"] == text
    page.click("#copies button:has-text('SVG')")
    drawing: str = page.evaluate("navigator.clipboard.readText()")
    assert drawing.startswith("<svg")
    assert "dream" in drawing
    assert "style=" not in drawing


def test_a_link_reproduces_the_state(tab: Tab, browser: Browser) -> None:
    tab.grow(DREAM)
    after = tab.edit(1, "<NP> <VP> , right ?", {1: "you"})
    contexts = tab.contexts()
    link = tab.page.url
    assert "#s=" in link
    again = Tab(browser.new_context(viewport={"width": 1280, "height": 900}).new_page()).open(link)
    expect(again.page.locator(".branch-tab")).to_have_count(2)
    assert again.finished() == after
    assert again.contexts() == contexts
    assert again.console == []
    again.page.context.close()


def test_the_history_brings_a_growth_back_and_is_cleared(tab: Tab) -> None:
    first = tab.grow(DREAM)
    tab.grow(TELL)
    page = tab.page
    page.click("#open-history")
    expect(page.locator(".history li")).to_have_count(2)
    page.locator(".history button").last.click()
    expect(page.locator("#sentence")).to_have_text(first)
    page.click("#open-history")
    page.click("#history button:has-text('Clear')")
    expect(page.locator(".history li")).to_have_count(0)


def test_an_error_is_one_kind_sentence_and_nothing_is_lost(tab: Tab) -> None:
    text = tab.grow(DREAM)
    page = tab.page
    page.click("#steer-toggle")
    page.fill("#template", "(S (QQ))")
    page.click("#grow")
    expect(page.locator("#notice")).to_contain_text("'QQ' is not a label here")
    assert page.locator("#sentence").inner_text() == text
    assert tab.console.pop().startswith("Failed to load resource")  # the browser's own line about the 422
    page.fill("#template", "")
    assert tab.grow(TELL) != text
    expect(page.locator("#notice")).to_be_hidden()


def test_a_busy_service_is_asked_again(tab: Tab) -> None:
    page = tab.page
    answered: list[int] = []

    def busy_once(route: Route) -> None:
        answered.append(1)
        if len(answered) == 1:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "Too many wait."})
        else:
            route.continue_()

    page.route("**/v1/stream", busy_once)
    page.fill("#text", DREAM)
    page.click("#grow")
    expect(page.locator("#waiting")).to_contain_text("busy")
    assert tab.finished() == "i had a dream about you yesterday"
    expect(page.locator("#waiting")).to_be_hidden()
    assert len(answered) == 2
    assert tab.console.pop().startswith("Failed to load resource")


def test_two_tabs_are_independent(tab: Tab, service: Service) -> None:
    other = Tab(tab.page.context.new_page()).open(service.address)
    other.page.fill("#text", TELL)
    tab.page.fill("#text", DREAM)
    other.page.click("#grow")
    tab.page.click("#grow")
    assert tab.finished() == "i had a dream about you yesterday"
    assert other.finished() != tab.page.locator("#sentence").inner_text()
    assert other.page.url != tab.page.url
    assert other.console == []


def test_a_killed_service_is_waited_for_and_the_growth_goes_on(browser: Browser, start: Callable[..., Service]) -> None:
    service = start()
    found = Tab(browser.new_page()).open(service.address)
    page = found.page

    def die_after_two_levels(route: Route) -> None:
        answer = route.fetch().text()
        service.kill()
        events = [event for event in answer.split("\n\n") if "event: level" in event]
        route.fulfill(content_type="text/event-stream", body="\n\n".join([*events[:2], ""]))

    page.route("**/v1/stream", die_after_two_levels, times=1)
    page.fill("#text", DREAM)
    page.click("#grow")
    expect(page.locator("#waiting")).to_contain_text("does not answer")
    assert page.locator(".level").count() == 3
    service.start()
    assert found.finished() == "i had a dream about you yesterday"
    assert page.locator(".level").count() == 7
    assert page.locator(".card.on-way").count() == 7
    expect(page.locator("#waiting")).to_be_hidden()
    assert all("ERR_CONNECTION" in line for line in found.console)
    page.close()


@pytest.mark.parametrize("text", ["<script>window.hurt = 1</script>", "<img src=x onerror='window.hurt = 1'>"])
def test_what_is_typed_is_never_executed(tab: Tab, text: str) -> None:
    page = tab.page
    tab.grow(text)
    tab.edit(-1, f"<NP> <VP> {text}")
    page.hover(tab.card(0))
    page.click("#open-history")
    assert text in page.locator(".history").inner_text()
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img, main script, #history img").count() == 0
    assert text.split()[0] in page.locator(tab.card(-1)).inner_text()


def test_right_to_left_and_every_script(tab: Tab) -> None:
    page = tab.page
    tab.grow("שלום עולם 👩‍👩‍👧 naïve 日本語")
    assert page.eval_on_selector("#text", "e => getComputedStyle(e).direction") == "rtl"
    fragment = page.url
    page.reload()
    assert tab.finished()
    assert page.input_value("#text") == "שלום עולם 👩‍👩‍👧 naïve 日本語"
    assert page.url == fragment


def test_the_token_is_asked_for_once_a_tab(browser: Browser, start: Callable[..., Service]) -> None:
    service = start("--token", "a-long-secret")
    found = Tab(browser.new_page())
    page = found.page
    page.goto(service.address)
    page.fill("#token-field", "wrong-guess")
    page.keyboard.press("Enter")
    expect(page.locator("#token")).to_contain_text("not the right one")
    page.fill("#token-field", "a-long-secret")
    page.keyboard.press("Enter")
    expect(page.locator("body[data-ready]")).to_be_attached()
    found.grow(DREAM)
    page.reload()
    expect(page.locator("body[data-ready]")).to_be_attached()
    assert found.finished()
    page.close()


def test_the_page_fits_a_phone(tab: Tab) -> None:
    page = tab.page
    page.set_viewport_size({"width": 375, "height": 760})
    tab.grow(DREAM)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.click(tab.card(1))
    box = page.locator("#edit").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 375
    assert page.locator("#edit .edit-inspect").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(tab: Tab, scheme: Any) -> None:
    tab.page.emulate_media(color_scheme=scheme)
    tab.grow(DREAM)
    tab.edit(1, "<NP> <VP> , right ?")
    tab.page.hover(tab.card(2))
    assert weak_texts(tab.page) == []


def weak_texts(page: Page) -> list[str]:
    """The texts whose contrast to what lies behind them is below 4.5 (WCAG AA)."""
    found: list[str] = page.evaluate(
        """() => {
          const read = c => c.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
            .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
          const behind = e => {
            for (let at = e; at; at = at.parentElement) {
              const c = read(getComputedStyle(at).backgroundColor);
              if (c.length < 4 || c[3] === 1) return c;
            }
            return [255, 255, 255];
          };
          const weak = [];
          for (const e of document.querySelectorAll('body *')) {
            const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
            if (!own || e.closest('[hidden], dialog, svg, .unseen, :disabled, noscript') || !e.offsetParent) continue;
            const [a, b] = [light(read(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
            const ratio = (a + .05) / (b + .05);
            if (ratio < 4.5) weak.push(`${e.className || e.tagName} ${e.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
          }
          return weak;
        }"""
    )
    return found
