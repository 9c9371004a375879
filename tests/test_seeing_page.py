"""docs/seeing.md: what it shows runs."""

from support.pages import python_of


def test_the_python_of_the_page_runs():
    scope = {}
    exec("\n".join(python_of("seeing.md")), scope)
    assert scope["answer"].looks["image"].weights.shape[1:] == (10, 10)
    assert scope["figure"].axes
