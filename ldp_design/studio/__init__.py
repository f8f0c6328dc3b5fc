"""The studio: a local web application in which authors write, size, try and publish a survey file.

The survey file stays the truth. What happens to an edit, from the page to the file:

1. `static/` is the page. `static/store.js` holds the survey as the server describes it, and queues edits.
2. :mod:`server` listens on 127.0.0.1, :mod:`access` lets one browser in, :mod:`app` answers its requests.
3. :mod:`edits` applies the page's operations to the tables of the survey, and
   :mod:`ldp_design.authoring.toml_patch` changes the text accordingly.
4. :mod:`workfile` has the text, its draft and its former versions, and saves it.
5. :mod:`checked` describes the text: its tables, mistakes and warnings. :mod:`session` is what all requests
   share: the file, the trial, and who is looking.

Besides, :mod:`imports` begins a survey, :mod:`sizes` computes margins and suggestions, :mod:`pilot` is a
trial, and :mod:`publish` writes what the author publishes; the last two run the project's own commands, see
:mod:`commands` and :mod:`guard`.
"""
