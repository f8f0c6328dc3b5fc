"""Loads the template of a page for people; all such pages share one style."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

_SHARED = "ldp_aggregator.results.page"
_SHARED_STYLE = "style.css"


def load_template(package: str, name: str, style: str = "") -> Template:
    """Return a template, which escapes all texts and has the variable `style`.

    Parameters
    ----------
    package : str
        The package with the folder `templates`.
    name : str
        The file of the template.
    style : str, optional
        A file of the folder with more rules, which follow those that all pages share.
    """
    loader, shared = PackageLoader(package), PackageLoader(_SHARED)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    styles = [shared.get_source(environment, _SHARED_STYLE)[0]]
    if style:
        styles.append(loader.get_source(environment, style)[0])
    environment.globals["style"] = Markup("\n".join(styles))  # noqa: S704 - files of this project
    return environment.get_template(name)
