"""Aggregations: from the JSON of a body to one command of MongoDB, and from its reply to rows. Pure.

grammar    JSON                → AskedAggregation        (form and bounds; knows no fields)
bind       AskedAggregation + Shape → BoundAggregation   (what each name means)
plan       BoundAggregation    → a pipeline, in the way that is fast or in the one that is plain
rows       a reply             → rows by the names that the client gave
"""
