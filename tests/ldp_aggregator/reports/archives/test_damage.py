"""A damaged archive loses the damaged reports only, and the operator is warned."""

import gzip

import pytest

from benchmarks.synthetic_archives import count_by_intake, make_reports
from encoders.survey import Plan
from ldp_aggregator.reports.archives import ArchiveError, count_archives
from ldp_aggregator.reports.archives.parser import SIMULATED_MARK
from ldp_aggregator.snapshot import Snapshot

Counts = tuple[dict[str, int], dict[str, int]]
"""Reports of each question, and refused reports by reason."""


@pytest.fixture
def reports(plan: Plan) -> list[bytes]:
    return make_reports(plan, 40)


def expected_counts(plan: Plan, reports: list[bytes], **rejections: int) -> Counts:
    expected = count_by_intake(plan, b"".join(reports))
    reasons = {reason.replace("_", "-"): count for reason, count in rejections.items()}
    return {key: total.n for key, total in expected.totals.items()}, reasons


def counts_of(snapshot: Snapshot) -> Counts:
    return {key: total.n for key, total in snapshot.totals.items()}, dict(snapshot.rejections)


@pytest.mark.parametrize("kept", [1, 5, 37, 40, 56])
@pytest.mark.parametrize("chunk", [53, 1 << 20])
def test_an_archive_that_ends_inside_a_report_is_counted_up_to_there(
    plan, read, narrow, reports, kept, chunk
):
    narrow(chunk)
    before, messages = b"".join(reports[:-1]), []
    snapshot = read(plan, before + reports[-1][:kept], warn=messages.append)
    assert counts_of(snapshot) == expected_counts(plan, reports[:-1], incomplete_body=1)
    assert len(messages) == 1
    assert f"archive-0: ends inside a report, which starts at byte {len(before)}; it counts" in messages[0]


@pytest.mark.parametrize("kept", [1, 20, 36])
@pytest.mark.parametrize("chunk", [53, 1 << 20])
def test_appending_after_a_truncated_report_loses_few_reports(plan, read, narrow, reports, kept, chunk):
    narrow(chunk)
    torn = b"".join([*reports[:20], reports[20][:kept], *reports[21:]])
    snapshot = read(plan, torn, warn=str)
    # the truncated array of five takes at most the next five reports for its elements
    assert snapshot.total() >= 34
    assert snapshot.rejections.keys() == {"malformed"}
    assert snapshot.rejections["malformed"] <= 2


def test_bytes_between_reports_are_skipped(plan, read, reports):
    messages = []
    data = b"\n".join([b"".join(reports[:20]), b"".join(reports[20:30]), b"".join(reports[30:])])
    assert counts_of(read(plan, data, warn=messages.append)) == expected_counts(plan, reports, malformed=2)
    assert "damaged in 2 places" in messages[0]


def test_a_false_length_does_not_hide_the_following_reports(plan, read, narrow, reports):
    claim = b"\x95\x01\xc6\x00\x10\x00\x00"  # a text of a megabyte
    for chunk in (53, 1 << 20):
        narrow(chunk)
        data = b"".join([*reports[:9], claim, *reports[9:]])
        assert counts_of(read(plan, data, warn=str)) == expected_counts(plan, reports, malformed=1)


def test_compressed_data_that_end_too_early_are_counted_up_to_there(plan, read, reports):
    messages = []
    packed = gzip.compress(b"".join(reports))
    snapshot = read(plan, packed[: len(packed) * 3 // 4], warn=messages.append)
    assert 20 < snapshot.total() < 40
    assert messages[-1].endswith("its gzip data end too early; the reports before that are counted")
    whole = read(plan, packed[:-4], warn=messages.append)
    assert counts_of(whole) == expected_counts(plan, reports)


def test_damaged_compression_is_refused_with_advice(plan, read, reports):
    packed = bytearray(gzip.compress(b"".join(reports)))
    packed[-8] ^= 1  # the checksum
    with pytest.raises(ArchiveError, match=r"archive-0: its gzip data are damaged; recover .*gzip -dc"):
        read(plan, bytes(packed))


NO_ARCHIVES = [
    b"",
    b"\x95\x01",
    b"\xc1",
    b"PK\x03\x04" * 99,
    bytes(3 << 20),
    gzip.compress(b"{}", mtime=0),
    b"\x1f\x8b",
]


@pytest.mark.parametrize("data", NO_ARCHIVES)
def test_a_file_without_reports_is_refused(plan, read, data):
    with pytest.raises(ArchiveError, match="archive-0: is neither a snapshot nor an archive of reports"):
        read(plan, data)


def test_files_that_cannot_be_read_or_written_are_named(
    plan,
    read,
    narrow,
    reports,
    monkeypatch,
    tmp_path,
):
    with pytest.raises(ArchiveError, match="absent: cannot be read: No such file"):
        count_archives(plan, [str(tmp_path / "absent")], str)
    narrow(100, buffer=100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(ArchiveError, match=r"temporary files in .*nowhere cannot be written: .*set TMPDIR"):
        read(plan, b"".join(reports))


@pytest.mark.slow
def test_no_temporary_file_is_left(
    plan,
    read,
    narrow,
    reports,
    monkeypatch,
    tmp_path,
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    narrow(1000, buffer=100)
    read(plan, b"".join(reports))
    with pytest.raises(ArchiveError):
        read(plan, b"".join(reports), b"no archive")
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("chunk", [7, 53, 1 << 20])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_the_mark_of_simulated_reports_is_read_and_rejects_nothing(
    plan,
    read,
    narrow,
    reports,
    chunk,
    compress,
):
    narrow(chunk)
    first, second = b"".join(reports[:20]), b"".join(reports[20:])
    for body in (SIMULATED_MARK + first + second, first + SIMULATED_MARK + second):
        snapshot = read(plan, compress(body))
        assert snapshot.simulated
        assert counts_of(snapshot) == expected_counts(plan, reports)
    assert not read(plan, first).simulated
    assert read(plan, first, SIMULATED_MARK + second).simulated


def test_an_incomplete_mark_is_damage(plan, read, reports):
    messages: list[str] = []
    snapshot = read(plan, b"".join(reports) + SIMULATED_MARK[:9], warn=messages.append)
    assert not snapshot.simulated
    assert counts_of(snapshot) == expected_counts(plan, reports, malformed=1)
    assert "damaged in one place" in messages[0]
