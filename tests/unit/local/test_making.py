"""What is kept in the cache is whole or absent."""

from pathlib import Path
from threading import Barrier, Thread

import pytest

from windlass.local.making import make_once


def write(text: str, scratch: Path) -> Path:
    product = scratch / "product"
    product.write_text(text)
    return product


def test_a_thing_is_made_once(tmp_path: Path) -> None:
    target = tmp_path / "cache" / "thing"

    make_once(target, lambda scratch: write("first", scratch))
    make_once(target, lambda scratch: write("second", scratch))

    assert target.read_text() == "first"


def test_what_fails_leaves_neither_the_thing_nor_its_remains(tmp_path: Path) -> None:
    def fail(scratch: Path) -> Path:
        write("half", scratch)
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        make_once(tmp_path / "thing", fail)

    assert [path.name for path in tmp_path.iterdir()] == [".thing.lock"]


def test_remains_of_a_killed_process_are_cleared_before_the_next_try(tmp_path: Path) -> None:
    remains = tmp_path / ".thing.making"
    remains.mkdir()
    (remains / "product").write_text("half")
    seen: list[Path] = []

    def make(scratch: Path) -> Path:
        seen.extend(scratch.iterdir())
        return write("whole", scratch)

    assert make_once(tmp_path / "thing", make).read_text() == "whole"
    assert seen == []


def test_two_at_the_same_time_make_it_once(tmp_path: Path) -> None:
    makers: list[str] = []
    both = Barrier(2)

    def make(name: str, scratch: Path) -> Path:
        makers.append(name)
        return write(name, scratch)

    def start(name: str) -> None:
        both.wait(timeout=5)
        make_once(tmp_path / "thing", lambda scratch: make(name, scratch))

    threads = [Thread(target=start, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=5)

    assert [(tmp_path / "thing").read_text()] == makers
