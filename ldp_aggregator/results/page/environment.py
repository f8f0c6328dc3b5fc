"""Loads the template of the results page or the dossier, which share a style and the tables of texts."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

_SHARED = "ldp_aggregator.results.page"
_SHARED_STYLE = "style.css"


def load_template(package: str, name: str, style: str = "") -> Template:
    """Return a template, which escapes all texts and has the variable `style`.

    Parameters
    ----------
    package : str
        The package with the folder `templates`; a file that it lacks is taken from the shared ones.
    name : str
        The file of the template.
    style : str, optional
        A file of the folder with more rules, which follow those that all pages share.
    """
    loaders = PackageLoader(package), PackageLoader(_SHARED), PackageLoader("ldp_aggregator", "render")
    loader = ChoiceLoader(loaders)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    styles = [loader.get_source(environment, name)[0] for name in (_SHARED_STYLE, style) if name]
    environment.globals["style"] = Markup("\n".join(styles))  # noqa: S704 - files of this project
    return environment.get_template(name)
