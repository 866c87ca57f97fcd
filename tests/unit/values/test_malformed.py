from windlass.values.malformed import Malformed


def test_the_sentence_names_kind_text_place_problem_and_fix() -> None:
    error = Malformed("duration", "1:x", 2, "'x' is no number", "write 1:30")
    assert str(error) == "duration '1:x', character 3: 'x' is no number; write 1:30"


def test_of_a_long_text_only_the_neighbourhood_is_shown() -> None:
    error = Malformed("hostlist", "a" * 5000 + "!" + "b" * 5000, 5000, "a stray !", "take it out")
    assert "a!b" in str(error)
    assert "character 5001" in str(error)
    assert len(str(error)) < 200
