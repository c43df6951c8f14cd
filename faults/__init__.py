"""Tools that break the service and observe it from outside, for `tests/` and `bench/` alike: `scripts/faults`.

Processes of the service and of MongoDB, a provider, bare connections, sample files; and the long fault tests made of
them. The package imports neither `tests` nor `bench`.
"""
