"""The progress of reading and counting archives."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.synthetic_archives import make_reports
from encoders.progress import Progress
from ldp_aggregator.reports.archives import ArchiveError, count_archives


class Recorder:
    """Records the progress of each task."""

    def __init__(self) -> None:
        self.tasks: list[Progress] = []

    @contextmanager
    def __call__(self, task: str, total: int, unit: str = "") -> Iterator[Progress]:
        self.tasks.append(Progress(task, total, unit))
        yield self.tasks[-1]

    def totals(self) -> list[tuple[str, int, int]]:
        return [(each.task, each.done, each.total) for each in self.tasks]


def write(folder: Path, *bodies: bytes) -> list[str]:
    for number, body in enumerate(bodies):
        (folder / f"archive-{number}").write_bytes(body)
    return [str(folder / f"archive-{number}") for number in range(len(bodies))]


@pytest.mark.parametrize("section", [1 << 30, 2000])
def test_all_bytes_of_plain_and_compressed_archives_and_all_parts_are_counted(
    plan, narrow, tmp_path, section
):
    narrow(500, section=section)
    body = b"".join(make_reports(plan, 200))
    paths = write(tmp_path, body, gzip.compress(b"".join(make_reports(plan, 200, seed=9))))
    shown = Recorder()
    assert count_archives(plan, paths, print, show=shown).total() == 400
    size = sum(Path(path).stat().st_size for path in paths)
    assert [(task, done == total) for task, done, total in shown.totals()] == [
        ("reading archives", True),
        ("counting reports", True),
    ]
    assert shown.tasks[0].total == size
    assert (shown.tasks[1].total > 1) == (section == 2000)


def test_the_progress_is_known_while_a_file_is_read(plan, narrow, tmp_path):
    narrow(500)
    steps: list[int] = []

    class Steps(Recorder):
        @contextmanager
        def __call__(self, task: str, total: int, unit: str = "") -> Iterator[Progress]:
            progress = Progress(task, total, unit)
            if task == "reading archives":
                progress.refresh = lambda: steps.append(progress.done)  # type: ignore[method-assign]
            yield progress

    body = b"".join(make_reports(plan, 200))
    count_archives(plan, write(tmp_path, body), print, show=Steps())
    assert steps == sorted(steps)
    assert len(set(steps)) >= len(body) // 500


def test_an_archive_that_does_not_exist_is_the_reader_s_error(plan, tmp_path):
    with pytest.raises(ArchiveError, match="no such archive: cannot be read"):
        count_archives(plan, [str(tmp_path / "no such archive")], print, show=Recorder())


@pytest.mark.slow
def test_the_sections_and_parts_of_several_processes_are_counted(plan, narrow, tmp_path):
    paths = write(tmp_path, *(b"".join(make_reports(plan, 50, seed=seed)) for seed in range(3)))
    narrow(500, section=1000)
    shown = Recorder()
    assert count_archives(plan, paths, print, 2, shown).total() == 150
    assert all(done == total > 1 for _, done, total in shown.totals())
