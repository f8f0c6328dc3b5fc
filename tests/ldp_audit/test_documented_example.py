"""The example of a faulty client in docs/porting.md prints what the page displays."""

import re
from pathlib import Path

import pytest

from ldp_audit import AuditResult

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_documented_faulty_client_prints_the_documented_faults(capsys, monkeypatch):
    page = (ROOT / "docs" / "porting.md").read_text("utf-8")
    [(code, faults)] = re.findall(r"```python\n(.*?)```\n.*?```text\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(code, names)
    assert capsys.readouterr().out == faults
    assert isinstance(names["result"], AuditResult)
    assert not names["result"].passed
