"""What a container said when it ended."""

import pytest

from windlass.kube.objects import ContainerEnd, ContainerState, ContainerStatus
from windlass.operator.pods.trouble import LAST_WORDS, last_words

FATAL = '{"time": "t", "daemon": "slurmdbd", "level": "fatal", "message": "no database"}'


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("plain text\nof two lines\n", "plain text\nof two lines"),
        (FATAL, "fatal: no database"),
        (f'{{"level": "info", "message": "begins"}}\n{FATAL}', "begins\nfatal: no database"),
        (f'sage": "cut in the middle"}}\n{FATAL}', "fatal: no database"),
        ("x" * 2000, "x" * LAST_WORDS),
        ("", ""),
    ],
)
def test_last_words_are_told_without_their_wrapping(said: str, words: str) -> None:
    ended = ContainerState(terminated=ContainerEnd(message=said))
    assert last_words(ContainerStatus(name="c", last_state=ended)) == words
