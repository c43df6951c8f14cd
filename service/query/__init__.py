"""The query language: from the pairs of a query string to MongoDB commands, and from their reply to records. Pure.

parse      pairs of text     → ListQuery     (grammar and limits; knows no fields)
bind       ListQuery + Shape → BoundQuery    (what each name means; knows no HTTP)
commands   BoundQuery        → commands of MongoDB (knows no names)
populate   a page's reply    → its records, related ones in their places
"""
