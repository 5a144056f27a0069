#!/usr/bin/env python3
"""Notify the subscribers of a section that opened: what a poller does when Closed or Wait becomes Open.

    python3 fanout.py app.db --section 1 --before Closed --after Open --index 07214

One transaction writes the event and a notification per subscriber, so that a crash leaves both or neither. The dedupe
key names the section and a window of three minutes: a section that opens and closes repeatedly makes one event in it. It needs
only Python's sqlite3; `postrider migrate` creates the tables.
"""
import argparse
import hashlib
import json
import sqlite3
import uuid

WINDOW_SECONDS = 180


def fan_out(db, section_id, before, after, index, term="2026F", campus="NB"):
    """Return the number of notifications written; 0 if the section did not open, or this opening is already known."""
    if not (before in ("Closed", "Wait") and after == "Open"):
        return 0
    with db:  # one transaction
        number, title = db.execute(
            "SELECT section_number, title FROM sections LEFT JOIN courses USING (course_id) WHERE section_id = ?",
            (section_id,),
        ).fetchone()
        window = db.execute("SELECT CAST(strftime('%s', 'now') AS INTEGER) / ?", (WINDOW_SECONDS,)).fetchone()[0]
        key = hashlib.sha256(f"{term}:{campus}:{section_id}:{window}".encode()).hexdigest()[:32]
        if db.execute("SELECT 1 FROM open_events WHERE dedupe_key = ?", (key,)).fetchone():
            return 0
        payload = {"snapshotHash": key[:8], "courseTitle": title, "sectionNumber": number}
        event = db.execute(
            "INSERT INTO open_events (section_id, term_id, campus_code, index_number, status_before, status_after,"
            " event_at, detected_by, dedupe_key, trace_id, payload)"
            " VALUES (?, ?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'fanout.py', ?, ?, ?)",
            (section_id, term, campus, index, before, after, key, uuid.uuid4().hex, json.dumps(payload)),
        ).lastrowid
        # Postrider checks who may be notified when the mail is due: a subscriber may leave in between.
        written = db.execute(
            "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key)"
            " SELECT ?, subscription_id, ? FROM subscriptions WHERE section_id = ?"
            " ON CONFLICT (open_event_id, subscription_id) DO NOTHING",
            (event, key, section_id),
        ).rowcount
        db.execute(
            "UPDATE subscriptions SET last_known_section_status = ? WHERE section_id = ?", (after, section_id)
        )
        return written


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("database")
    arguments.add_argument("--section", type=int, required=True)
    arguments.add_argument("--before", required=True)
    arguments.add_argument("--after", required=True)
    arguments.add_argument("--index", required=True, help="the number to register with")
    given = arguments.parse_args()
    connection = sqlite3.connect(given.database)
    connection.execute("PRAGMA journal_mode = WAL")
    print(fan_out(connection, given.section, given.before, given.after, given.index), "notifications")
