"""A step that takes its time, so that a worker can be killed in the middle of a pass; workers import it."""

import time

from mallowmix.engine.threads import OnShard
from mallowmix.learn.spectral.signed_moment import _count_step


def slow_count(shard, seconds, state):
    """How often each pair was seen in the shard."""
    time.sleep(seconds)
    return OnShard(_count_step)(shard, None, None)
