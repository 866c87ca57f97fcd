from io import StringIO

import pytest
from rich.console import Console

from windlass.local.progress import Display


@pytest.fixture
def printed() -> StringIO:
    return StringIO()


@pytest.fixture
def display(printed: StringIO) -> Display:
    return Display(Console(file=printed, force_terminal=False))


def test_a_log_has_a_line_for_the_start_and_the_end_of_a_step(
    display: Display, printed: StringIO
) -> None:
    with display.step("build etcd"):
        assert printed.getvalue() == "-> build etcd\n"
    assert printed.getvalue().splitlines()[1].startswith("    ok  build etcd (")


def test_a_step_that_fails_is_called_failed(display: Display, printed: StringIO) -> None:
    with pytest.raises(ZeroDivisionError), display.step("build etcd"):
        raise ZeroDivisionError
    assert printed.getvalue().splitlines()[1].startswith("failed  build etcd (")


def test_a_terminal_shows_bars_while_steps_are_open() -> None:
    printed = StringIO()
    display = Display(Console(file=printed, force_terminal=True, width=120))
    with display.step("one") as one, display.step("two") as two:
        one.far(3, 10)
        two.note("compiling")
    assert "ok  one" in printed.getvalue()
    assert "ok  two" in printed.getvalue()


def test_the_summary_leaves_out_what_took_no_time(display: Display) -> None:
    with display.step("quick"):
        pass
    assert display.summary(at_least=10) == ""
    assert display.summary(at_least=0).endswith("quick")
