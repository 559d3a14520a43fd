"""A step that takes its time, so that a worker can be killed in the middle of a pass; workers
import it.
"""

import time

from mallowmix.engine import reduce_step
from mallowmix.engine.engine import run_reduce
from mallowmix.learn.spectral.signed_moment import _count_step


@reduce_step("slow count", takes_shards=True)
def slow_count(shard, seconds, state):
    """How often each pair was seen in the shard."""
    time.sleep(seconds)
    return run_reduce(_count_step, shard, None, None)


@reduce_step("no such file", takes_shards=True)
def failing_step(shard, broadcast, state):
    """What a step meets that finds no file."""
    raise FileNotFoundError(broadcast)
