"""The query language: from the pairs of a query string to MongoDB stages. Pure.

parse      pairs of text     → ListQuery     (grammar and limits; knows no fields)
bind       ListQuery + Shape → BoundQuery    (what each name means; knows no HTTP)
pipeline   BoundQuery        → stages        (knows no names)
"""
