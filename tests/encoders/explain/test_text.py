from encoders.explain.text import Counted


def test_a_number_is_written_with_what_it_counts():
    counts = (Counted(0, "report"), Counted(1, "person", "people"), Counted(2000, "person", "people"))
    assert [str(each) for each in counts] == ["0 reports", "1 person", "2,000 people"]
