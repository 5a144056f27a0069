"""Another program on the same SQLite file: Python's own sqlite3 in WAL mode, with its default timeout.

Writes ROWS subscriptions and one notification each, in small transactions, while workers are killed and replaced.
Any error, in particular "database is locked", ends it with exit code 1.
"""
import json
import random
import sqlite3
import sys
import time

path, rows, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
db = sqlite3.connect(path)
mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
assert mode == "wal", mode
with db:
    db.execute("INSERT INTO courses (course_id, title, course_string) VALUES (1, 'Algorithms', '01:198:344')")
    db.execute("INSERT INTO sections (section_id, course_id, section_number, meeting_summary) VALUES (1, 1, '03', 'Mon')")

written = 0
while written < rows:
    until = min(rows, written + chance.randint(1, 40))
    event = written + 1
    with db:
        payload = json.dumps({"snapshotHash": f"h{event}", "courseTitle": "Algorithms", "sectionNumber": "03"})
        db.execute(
            "INSERT INTO open_events (open_event_id, section_id, term_id, campus_code, index_number, status_before,"
            " status_after, event_at, detected_by, dedupe_key, trace_id, payload)"
            " VALUES (?, 1, '2026F', 'NB', '07214', 'Closed', 'Open', datetime('now'), 'poller', ?, ?, ?)",
            (event, f"key-{event}", f"trace-{event}", payload),
        )
        for number in range(written, until):
            slow = "" if number % 10 == 0 else "slow-0.02-"
            db.execute(
                "INSERT INTO subscriptions (subscription_id, section_id, contact_value, unsubscribe_token) VALUES (?, 1, ?, ?)",
                (number + 1, f"{slow}{number:06}@example.net", f"t{number}"),
            )
            db.execute(
                "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key) VALUES (?, ?, ?)",
                (event, number + 1, f"key-{event}"),
            )
    written = until
    time.sleep(chance.random() * 0.03)
print(written)
