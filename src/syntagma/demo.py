"""`make demo`: a sentence, its tree, its levels, and the way back."""

from __future__ import annotations

from syntagma.cli.common import colour, columns
from syntagma.levels import MalformedInfill, expand, levels, show, tree_of
from syntagma.parse import Parser
from syntagma.tree import draw, prune

SENTENCE = "It seems that he has made a mistake."


def main() -> None:
    """Show the whole way down a tree and back."""
    tree = prune(Parser.from_pretrained()(SENTENCE))
    print(f"{SENTENCE}\n\nIts tree, pruned to the labels that guide generation:\n")
    print(draw(tree, columns(), colour()))
    print("\nIts levels: each context, and the infill that grows it by one depth:\n")
    trace = list(levels(tree))
    width = max(len(show(level.context)) for level in trace)
    for level in trace:
        print(f"  {show(level.context):<{width}}  ->  {show(level.infill)}")
    grown = trace[0].context
    for level in trace:
        following = expand(grown, level.infill)
        if isinstance(following, MalformedInfill):
            raise following
        grown = following
    print(f"\nExpanded again from <T>:\n\n  {show(grown)}")
    if tree_of(trace) != tree:
        raise SystemExit("the trace did not give the tree back")


if __name__ == "__main__":
    main()
