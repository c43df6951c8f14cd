"""The garbage collector of a process that serves: it skips the loaded modules, and runs less often."""

import gc

from service.fast import uses

# Objects made and not freed before the youngest generation is looked at; and how many of its turns make one of the next.
THRESHOLDS = (20_000, 50, 50)


def tune() -> None:
    """Exempts the loaded objects from collection, for they live as long as the process, and turns the collector on.

    A request leaves few cycles behind, and Python's own thresholds date from small heaps. The collector is turned on
    because a worker imports the program's `__main__`, which turns it off.
    """
    gc.collect()
    gc.enable()
    if uses("collector"):
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
