"""The smallest embedding: one person answers one survey.

    LDP_SURVEY_URL=http://127.0.0.1:8000/v1/surveys/teen-health-2026 python examples/embed.py
"""

import ldp_client

with ldp_client.configure() as client:
    answer = {"gender": "female", "grade": "10", "tv": "2", "strength_days": 3, "sleep": "8"}
    print(ldp_client.report(answer, "yes"))
    print(client.flush())
