"""Random aggregations over random documents, and what each gives by a program that is slow and plain."""
