"""The figures of docs/performance.md, measured: `scripts/bench --help`. Nothing here is part of the service or of its tests.

figures     a measured value beside its goal, and how a row of them prints
population  projects with generated users
growth      how lists behave from few users to many, with the commands and the documents they cost
"""
