"""Train a model from a snapshot, on another machine than the collector's.

curl -H "Authorization: Bearer $LDP_OPERATOR_TOKEN" http://host:8000/v1/surveys/ID/snapshot > snapshot.json
python examples/train.py snapshot.json model.json
"""

import sys
from pathlib import Path

from ldp_aggregator import Snapshot, load_model, make_results, save_results

source, target = map(Path, sys.argv[1:])
snapshot = Snapshot.from_json(source.read_bytes(), str(source))
save_results(target, make_results(snapshot))
print(f"{load_model(target)} in {target}")
