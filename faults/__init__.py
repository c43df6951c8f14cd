"""What breaks the service and looks at it from outside, for `tests/` and `bench/` alike: `scripts/faults`.

Processes of the service and of MongoDB, a provider, bare connections, sample files; and the long fault tests made of them.
It knows neither of the two that use it.
"""
