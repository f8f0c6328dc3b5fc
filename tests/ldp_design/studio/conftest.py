"""Runs a studio in a browser window; the parameter has the survey, if any, and options of the window."""

import pytest

from tests.ldp_design.studio.browser_author import EXAMPLE, Author
from tests.support.studio import run_studio


@pytest.fixture
def author(chromium, tmp_path, request):
    text, options = getattr(request, "param", (EXAMPLE, {}))
    with run_studio(tmp_path, text) as studio:
        author = Author(chromium, studio, **options)
        yield author
        author.context.close()
        assert author.errors == []
        assert all(url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:")) for url in author.asked)
