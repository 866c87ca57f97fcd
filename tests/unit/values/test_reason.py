import pytest

from windlass.values.reason import Reason


def test_a_reason_reads_as_a_word_and_a_sentence() -> None:
    assert str(Reason("JobsRunning", "2 jobs run on w-0")) == "JobsRunning: 2 jobs run on w-0"


@pytest.mark.parametrize("code", ["", "jobs running", "jobsRunning", "Jobs-Running", "J" * 129])
def test_a_code_that_kubernetes_would_refuse_is_refused_at_once(code: str) -> None:
    with pytest.raises(ValueError, match="CamelCase"):
        Reason(code, "why")


def test_a_reason_without_a_sentence_is_none() -> None:
    with pytest.raises(ValueError, match="says nothing"):
        Reason("JobsRunning", "")
