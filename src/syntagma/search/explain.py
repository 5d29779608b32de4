"""Why an output came out: what each constituent cost, which contexts lost at each depth and by how much.

    explanation = explain(generator, "It seems like he has made a mistake.", beam=3)
    Path("why.html").write_text(explanation.to_html())

The page holds everything: no script, no address, text only where text belongs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import exp
from typing import Any

from syntagma.errors import ConfigError
from syntagma.levels import TOP, show
from syntagma.search.competition import OUTSCORED
from syntagma.search.document import unread
from syntagma.search.generator import Generator
from syntagma.search.growth import BeamEntry, PartEntry, parts_of
from syntagma.search.hypothesis import Hypothesis, merge
from syntagma.search.options import SearchOptions
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output
from syntagma.search.steering import Steering
from syntagma.tree import Tree
from syntagma.tree import svg as tree_svg
from syntagma.tree.draw import display_width


@dataclass(frozen=True)
class SearchNode:
    """A context at a depth of the search: its score, whether it stayed in the beam, and where it grew from."""

    context: str
    score: float
    kept: bool
    parent: int | None
    """Which of the contexts kept one depth before, counted from 0."""
    winner: bool = False
    reason: str = ""
    """Why it did not stay."""


@dataclass(frozen=True)
class Explanation:
    """The whole search for one source."""

    source: str
    outputs: tuple[Output, ...]
    shares: tuple[tuple[PartEntry, ...], ...]
    """For each level of the best output, what each constituent became."""
    depths: tuple[tuple[SearchNode, ...], ...]
    """For each depth the contexts that competed, best first."""

    @staticmethod
    def without_search(source: str, outputs: Sequence[Output]) -> Explanation:
        """The explanation of outputs that no search found, as their notes say."""
        parts = tuple(parts_of(level) for level in outputs[0].trace)
        return Explanation(source, tuple(outputs), parts, ((),) * len(parts))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "hypotheses": [output.to_dict() for output in self.outputs],
            "shares": [[vars(share) for share in level] for level in self.shares],
            "depths": [[vars(node) for node in depth] for depth in self.depths],
        }

    def to_html(self) -> str:
        """A self-contained page."""
        best = self.outputs[0]
        # The root has one name on the page: that of its first context.
        tree = "" if best.tree is None else tree_svg(Tree(TOP.name, best.tree.children), best.text)
        grown = (
            f"<h2>The tree it grew from</h2><figure>{tree}</figure><h2>Level by level</h2>{self._levels()}"
            if best.trace
            else ""
        )
        note = f"<p>Note: {escape(best.note)}.</p>" if best.note else ""
        others = "".join(f"<li>{escape(o.text)} <small>{_figures(o)}</small></li>" for o in self.outputs)
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(best.text)}</title><style>{PAGE_STYLE}</style><h1>{escape(best.text)}</h1>"
            f"<p>Source: {escape(self.source)}</p>{note}{grown}<h2>The beam</h2><figure>{self.beam_svg()}</figure>"
            f"<h2>All hypotheses</h2><ol>{others}</ol></html>\n"
        )

    def _levels(self) -> str:
        rows = []
        for number, (level, shares) in enumerate(zip(self.outputs[0].trace, self.shares, strict=True)):
            parts = "".join(
                f"<div><b>{escape(share.label)}</b> → {_marked(share.became)} "
                f'<meter min="0" max="1" value="{exp(min(0.0, share.score)):.3f}"></meter> '
                f"<small>{share.score:.3f}</small></div>"
                for share in shares
            )
            notes = (" edited by you" if level.edited else "") + (" matches the template" if level.rewarded else "")
            lost = "".join(
                f"<li>{_marked(node.context)} <small>{node.score:.3f}, {_why(node, level.score)}</small></li>"
                for node in self.depths[number]
                if not node.kept
            )
            lost = f"<details><summary>what lost</summary><ul>{lost}</ul></details>" if lost else ""
            rows.append(
                f"<tr><td>{level.depth}</td><td>{_marked(show(level.context))}{escape(notes)}</td>"
                f"<td>{parts}{lost}</td><td>{level.score:.3f}</td></tr>"
            )
        return f"<table><tr><th>depth<th>context<th>what its labels became<th>score</tr>{''.join(rows)}</table>"

    def beam_svg(self) -> str:
        """The beam as columns of contexts, a column a depth, joined by lines; the winner's way is bold."""
        widths = [max((_width(node.context) for node in depth), default=1.0) for depth in self.depths]
        tall = max((len(depth) for depth in self.depths), default=1)
        lines, texts = [], []
        trace = self.outputs[0].trace
        start = show(trace[0].context) if trace else self.outputs[0].text  # a start without labels is a text already
        edge = 10.0 + _width(start)
        texts.append(f'<text x="10" y="20" font-weight="700">{escape(start)}</text>')
        places: list[tuple[float, float]] = [(edge + 4, 16.0)]
        for depth, width in zip(self.depths, widths, strict=True):
            left = edge + 60
            kept: list[tuple[float, float]] = []
            for row, node in enumerate(depth):
                y = 20.0 + row * 26
                if node.parent is not None and node.parent < len(places):
                    x0, y0 = places[node.parent]
                    kind = "winner" if node.winner else "kept" if node.kept else "lost"
                    # Level with its text to the column's edge, so that it crosses no other text.
                    way = f"M{x0:.0f} {y0:.0f}H{edge + 4:.0f}L{left - 6:.0f} {y - 4:.0f}"
                    lines.append(f'<path class="{kind}" d="{way}"/>')
                shade = "" if node.kept else ' opacity=".5"'
                weight = ' font-weight="700"' if node.winner else ""
                shown = escape("".join(sign if sign.isprintable() else " " for sign in node.context))
                texts.append(f'<text x="{left:.0f}" y="{y:.0f}"{shade}{weight}>{shown}</text>')
                if node.kept:
                    kept.append((left + _width(node.context) + 4, y - 4))
            places, edge = kept, left + width
        left = edge + 10
        size = f'viewBox="0 0 {left:.0f} {tall * 26 + 20}" width="{left:.0f}" height="{tall * 26 + 20}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="beam" role="img" {size}><title>The beam</title>'
            f"<style>{BEAM_STYLE}</style>{''.join(lines)}{''.join(texts)}</svg>"
        )


BEAM_STYLE = (
    ".beam text{font:12px ui-monospace,monospace;fill:currentColor}.beam path{stroke:#868e96;fill:none}"
    ".beam .winner{stroke:#0b7285;stroke-width:2.5}.beam .lost{opacity:.35}"
)
PAGE_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color-scheme:light dark}"
    "table{border-collapse:collapse;width:100%}td,th{border-top:1px solid #8886;padding:.4rem;text-align:left;"
    "vertical-align:top}b{color:#0b7285}figure{overflow-x:auto;margin:0}small{opacity:.7}meter{width:6rem}"
)


def _width(context: str) -> float:
    """How wide a context is in the drawing."""
    return display_width(context) * 7.3


def _figures(output: Output) -> str:
    """The figures that decided an output's place."""
    ranked = f"reranker {output.rank_score:.3f}, " if output.rank_score is not None else ""
    return f"{ranked}search score {output.score:.3f}"


def _why(node: SearchNode, best: float) -> str:
    """Why a context did not stay."""
    behind = f"behind by {best - node.score:.3f}"
    return behind if node.reason == OUTSCORED and best > node.score else escape(node.reason)


def _marked(context: str) -> str:
    """A context with its labels in bold."""
    return " ".join(
        f"<b>{escape(token)}</b>" if token.startswith("<") and token.endswith(">") else escape(token)
        for token in context.split(" ")
    )


def explain(generator: Generator, text: str, steering: Steering | None = None, **options: Any) -> Explanation:
    """Search, and keep what the search saw; `options` are those of `SearchOptions`."""
    if answer := unread(text, generator.language):
        return Explanation.without_search(text, answer)
    steering = steering or Steering()
    request, first = explainable(generator, text, steering, generator.defaults.changed(options))
    (done,) = generator.scheduler().run([request])
    return explained(generator, text, steering, done, first)


def explainable(
    generator: Generator, text: str, steering: Steering, options: SearchOptions
) -> tuple[SearchRequest, list[Hypothesis]]:
    """A request that remembers what it sees, and the beam that it begins with."""
    if not generator.config.guided:
        raise ConfigError("a baseline has no structure to explain", remedy="use a guided model")
    request = generator.request(0, text, steering, options, abstain=True, plan=True)
    request.remember = True
    return request, list(request.beam)


def explained(
    generator: Generator, text: str, steering: Steering, done: SearchRequest, first: list[Hypothesis]
) -> Explanation:
    """The explanation of a search that is over and was told to remember; it began with the beam `first`."""
    outputs = generator.outputs(done, steering)
    if not isinstance(outputs, list):
        raise outputs
    parts = tuple(parts_of(level) for level in outputs[0].trace)
    return Explanation(text, tuple(outputs), parts, _depths(generator, done, first))


def _depths(
    generator: Generator, request: SearchRequest, first: list[Hypothesis]
) -> tuple[tuple[SearchNode, ...], ...]:
    """The contexts that competed at each depth: the kept, and as many of the others as a page can show."""
    way = set() if request.unchanged else set(request.beam[0].history())
    _, number = merge(first, request.plans)
    depths = []
    for beam, dropped, reasons in request.rounds:
        kept, places = merge(beam, request.plans)
        nodes = []
        for hypothesis in [*kept, *dropped[: request.options.beam]]:
            parent = hypothesis if hypothesis in number else hypothesis.parent
            context = BeamEntry.of(hypothesis, generator.vocabulary).context
            stays = hypothesis in kept
            place = number.get(parent) if parent is not None else None
            winner = stays and any(other in way for other, shown in places.items() if shown == places[hypothesis])
            nodes.append(SearchNode(context, hypothesis.score, stays, place, winner, reasons.get(hypothesis, "")))
        depths.append(tuple(nodes))
        number = places
    return tuple(depths)
