"""Seeds: one declarative file → a project, its settings, users, files, collections and documents. A second run changes nothing.

manifest   the file, read and checked                       (pure, but for reading it)
sources    rows: inline, JSON, JSON Lines or CSV (csv_records), streamed
rows       a row → the fields of a record                    (pure)
references natural keys → ids
users, documents, files    what is there, what is missing, what differs (changes)
run        everything in order; report counts it
"""
