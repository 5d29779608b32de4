"""A search walked level by level: look at the beam, change a context, go on."""

from syntagma import Generator

generator = Generator.from_pretrained("paraphrase-en")
growth = generator.grow("It seems like he has made a mistake.", beam=3)


def show(title: str) -> None:
    print(title)
    for entry in growth.beam:
        print(f"   {entry.score:7.3f}  {entry.context}")


for depth in range(1, 4):
    growth.step()
    show(f"depth {depth}")

growth.undo()
show("one step back")

growth.replace(0, "<NP> <VP> , right ?").keep(0).pin(0, 1, "He")
show("our own context, its first label pinned to 'He'")

print("the end:", growth.finish()[0].text)
