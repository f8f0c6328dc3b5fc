"""The smallest program with the client: one person answers the survey yrbss-2013, and no other.

Another survey needs another row and label: its values by the names in the survey's file.

LDP_SURVEY_URL=http://127.0.0.1:8000/v1/surveys/yrbss-2013 python examples/embed.py
"""

import ldp_client

answer = {"gender": "female", "grade": 10, "hours_tv": 2, "hours_sleep": 7.5, "strength_training_days": 3}
with ldp_client.configure() as client:
    client.grant()  # in an application: after the person has agreed
    print(ldp_client.report({**answer, "texted_while_driving": None}, "yes"))
    print(client.flush())
