"""What a crash reporter finds in the errors of a strict client: no value of the row in any frame of ours."""

import asyncio
import inspect
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ldp_client
from encoders.survey import Plan
from ldp_client import AsyncClient, Client, State
from tests.ldp_client.conftest import RECORDED, URL, FakeTransport

PACKAGES = tuple(str(Path(ldp_client.__file__).parents[1] / name) for name in ("ldp_client", "encoders"))
HOURS, SECRET = 7.012345, "secret-0f3b"
MOST_OBJECTS = 100_000


class Faulty(dict[str, object]):
    """A row whose entry raises an error of its own, which has a cause and names a value."""

    def __getitem__(self, name: str) -> object:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise OSError("no such drive") from error


ROWS: dict[str, tuple[dict[str, object], object]] = {
    "a value": ({"age": SECRET, "hours": HOURS}, "no"),
    "a number": ({"age": "old", "hours": [Decimal(str(HOURS)), SECRET]}, "no"),
    "a label": ({"age": "old", "hours": HOURS}, SECRET),
    "a missing entry": ({"hours": HOURS, "other": SECRET}, "no"),
    "no mapping": ([HOURS, SECRET], "no"),
    "a row's own error": (Faulty(age=SECRET, hours=HOURS), "no"),
}


def parts_of(found: object) -> list[object]:
    """Return what an object refers to, as far as a crash reporter could follow it."""
    if isinstance(found, type | types.ModuleType):
        return []
    parts = list(getattr(found, "__dict__", {}).values())
    parts += [getattr(found, name, None) for each in type(found).__mro__ for name in _slots(each)]
    if isinstance(found, dict):
        parts += [*found, *found.values()]
    elif isinstance(found, list | tuple | set | frozenset):
        parts += found
    elif isinstance(found, types.FunctionType):
        parts += [cell.cell_contents for cell in found.__closure__ or () if cell != types.CellType()]
    elif isinstance(found, types.MethodType):
        parts += [found.__self__, found.__func__]
    elif isinstance(found, partial):
        parts += [found.func, found.args, found.keywords]
    elif inspect.iscoroutine(found) and found.cr_frame:
        parts.append(dict(found.cr_frame.f_locals))
    elif isinstance(found, BaseException):
        parts += [found.args, *(frame.f_locals for frame in frames_of(found))]
    return parts


def _slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)


def holds_value(start: object) -> bool:
    """Search an object, and all that it refers to, for a value of the row."""
    waiting, seen = [start], dict[int, object]()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen[id(found)] = found
        assert len(seen) < MOST_OBJECTS
        if isinstance(found, str | bytes) and SECRET in (
            found if isinstance(found, str) else found.decode("latin1")
        ):
            return True
        if isinstance(found, float | Decimal) and float(found) == HOURS:
            return True
        waiting += parts_of(found)
    return False


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        yield from chain_of(error.__cause__)
        error = error.__context__


def frames_of(error: BaseException) -> Iterator[types.FrameType]:
    """Yield the frames of an error, its causes and contexts that are code of this package."""
    for each in chain_of(error):
        traceback = each.__traceback__
        while traceback:
            if traceback.tb_frame.f_code.co_filename.startswith(PACKAGES):
                yield traceback.tb_frame
            traceback = traceback.tb_next


def require_no_value(error: BaseException) -> None:
    frames = list(frames_of(error))
    assert frames
    for frame in frames:
        names = [name for name, value in frame.f_locals.items() if holds_value(value)]
        assert not names, f"{frame.f_code.co_qualname} holds the answer in {names}"
    assert not any(holds_value(each.args) for each in chain_of(error))


def raised(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        act()
    return caught.value


@pytest.fixture
def strict(plan: Plan, tmp_path: Path) -> Iterator[Client]:
    with Client(
        plan, URL, journal=tmp_path / "journal.db", transport=FakeTransport(RECORDED), strict=True, spread=0
    ) as client:
        client.grant()
        yield client


def test_the_search_finds_values_in_frames_containers_and_objects():
    def inner(row: object) -> Callable[[], object]:
        return lambda: row

    for holder in (
        {"a": [(HOURS,)]},
        inner(SECRET),
        partial(inner, SECRET),
        State,
        types.SimpleNamespace(x=SECRET),
    ):
        assert holds_value(holder) == (holder is not State)
    error = raised(lambda: ldp_client.make_report(*[None] * 3))
    assert list(frames_of(error))


@pytest.mark.parametrize("what", ROWS)
@pytest.mark.parametrize("name", ["report", "preview"])
def test_no_frame_of_a_strict_client_holds_the_answer(strict, name, what):
    error = raised(lambda: getattr(strict, name)(*ROWS[what]))
    require_no_value(error)
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize("what", ROWS)
def test_no_frame_of_the_configured_report_holds_the_answer(strict, monkeypatch, what):
    monkeypatch.setattr(ldp_client, "_client", strict)
    require_no_value(raised(lambda: ldp_client.report(*ROWS[what])))


@pytest.mark.parametrize("what", ROWS)
@pytest.mark.parametrize("name", ["report", "preview"])
def test_no_frame_of_a_strict_async_client_holds_the_answer(plan, tmp_path, name, what):
    async def main() -> None:
        async with AsyncClient(
            plan, URL, journal=tmp_path / "journal.db", transport=_Never(), strict=True
        ) as client:
            await client.grant()
            await getattr(client, name)(*ROWS[what])

    require_no_value(raised(lambda: asyncio.run(main())))


class _Never:
    async def request(self, *_: Any) -> ldp_client.Response:
        raise AssertionError("nothing is sent")


def test_no_frame_holds_the_answer_when_the_journal_fails(strict, tmp_path, monkeypatch):
    row = {"age": "old", "hours": HOURS}
    strict.withdraw()
    require_no_value(raised(lambda: strict.report(row, "no")))
    strict.grant()

    def broken(*_: object) -> int:
        raise OSError("no entropy")

    monkeypatch.setattr("encoders.randomness.SystemEntropy.take", broken)
    error = raised(lambda: strict.report(row, "no"))
    require_no_value(error)
    assert isinstance(error, ldp_client.JournalError)
    (tmp_path / "journal.db").write_bytes(b"this is not a database, and long enough to see that" * 20)
    error = raised(lambda: strict.report(row, "no"))
    require_no_value(error)
    assert isinstance(error, ldp_client.JournalError)


def test_a_cancelled_call_leaves_no_answer_in_its_frames(plan, tmp_path, monkeypatch):
    row = {"age": "old", "hours": HOURS}

    async def main() -> BaseException:
        client = AsyncClient(plan, URL, journal=tmp_path / "journal.db", transport=_Never())
        await client.grant()
        entered = asyncio.Event()
        loop, original = asyncio.get_running_loop(), client.client._report

        def slow(*arguments: Any) -> Any:
            loop.call_soon_threadsafe(entered.set)
            return original(*arguments)

        monkeypatch.setattr(client.client, "_report", slow)
        task = asyncio.ensure_future(client.report(row, "no"))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        client.client.close(0)
        return caught.value

    require_no_value(asyncio.run(main()))


def test_an_error_stays_debuggable_without_its_frames(strict):
    error = raised(lambda: strict.report(*ROWS["a value"]))
    assert isinstance(error, ldp_client.RowError)
    assert (error.field, error.why) == ("age", 'is not one of the survey\'s values: "young", "old"')
    strange = raised(lambda: strict.report(*ROWS["a row's own error"]))
    assert (type(strange), str(strange)) == (OSError, "no such drive")
    (note,) = strange.__notes__
    assert __file__ in note
    assert "client.py" in note
    assert SECRET not in note


def test_arguments_by_name_and_documentation_remain(strict):
    assert strict.report(row={"age": "old", "hours": HOURS}, label="no").state is State.QUEUED
    assert list(inspect.signature(Client.report).parameters) == ["self", "row", "label"]
    assert "Randomise one answer" in (Client.report.__doc__ or "")
    assert inspect.iscoroutinefunction(AsyncClient.report)
