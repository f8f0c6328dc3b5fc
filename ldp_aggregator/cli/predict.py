"""ldp-predict: predicts the labels of the rows of a CSV file with a trained model."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import click
import numpy as np

from encoders.survey.parse_value import category_text
from encoders.survey.row_cells import parse_missing_codes, set_missing_codes
from ldp_aggregator.atomic_file import write_atomically
from ldp_aggregator.cli.file_options import OutputFile, read_rows, require_no_input
from ldp_aggregator.cli.help import (
    Command,
    argument,
    missing_codes_option,
    multiline_option,
    option,
    version_option,
)
from ldp_aggregator.prediction.predictor import Predictor
from ldp_aggregator.prediction.scoring import normalise_log_scores
from ldp_aggregator.results_file import no_classifier, read_classifier
from ldp_aggregator.rows.encode_table import drop_missing_codes
from ldp_aggregator.statements.model import find_notices

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=Command)
@argument("model", type=_PATH, help="A model file, from ldp-train or ldp-central.")
@argument("rows", type=_PATH, help="The rows to predict, a CSV file with a header.")
@option("-o", "--output", type=OutputFile(), show_default="standard output", help="The CSV file to write.")
@missing_codes_option
@multiline_option
@version_option
def main(model: Path, rows: Path, output: Path | None, codes: tuple[str, ...], multiline: bool) -> None:
    """Predict the label of every row of ROWS with MODEL.

    Writes CSV: the predicted label of each row, and the probability of each label. Columns that the model
    does not use are ignored. The line of a row that a missing code drops has empty cells.

    $ ldp-predict model.json rows.csv
    $ ldp-predict model.json rows.csv -o predictions.csv
    """
    require_no_input(output, [model, rows])
    stored = read_classifier(model)
    plan = stored.plan
    if not plan.label.exists:
        raise no_classifier(plan, "ldp-results shows its estimates")
    for notice in find_notices(plan, stored.usefulness):
        click.echo(f"warning: {notice}", err=True)
    entries = set_missing_codes(plan.entries, parse_missing_codes(codes))
    columns, kept = drop_missing_codes(entries, read_rows(rows, entries, multiline))
    predictor = Predictor.from_parameters(plan, stored.classifier)
    scores = predictor.compute_scores(predictor.encode(predictor.read_columns(columns)))
    probabilities = np.exp(normalise_log_scores(scores))
    best, predicted = probabilities.argmax(axis=1).tolist(), set(kept.tolist())
    table = StringIO()
    writer = csv.writer(table, lineterminator="\n")
    names = [category_text(label) for label in predictor.classes]
    writer.writerow([plan.label.name, *(f"P({name})" for name in names)])
    for number, (index, row) in enumerate(zip(best, probabilities.tolist(), strict=True)):
        line = [names[index], *(f"{each:.6g}" for each in row)]
        writer.writerow(line if number in predicted else [""] * len(line))
    if output:
        write_atomically(output, table.getvalue().encode())
    else:
        click.echo(table.getvalue().encode(), nl=False)  # UTF-8 in any terminal, as in the file
