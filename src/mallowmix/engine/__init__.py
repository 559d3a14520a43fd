"""Where passes over the users run: blocks of users, steps, and the engines that run them."""

from mallowmix.engine.blocks import Block, Shard, make_blocks, make_shards, some_users
from mallowmix.engine.engine import Engine, map_step, reduce_step
from mallowmix.engine.parallel import parallel_map, parallel_sum
from mallowmix.engine.threads import ThreadEngine

__all__ = [
    "Block",
    "Engine",
    "Shard",
    "ThreadEngine",
    "make_blocks",
    "make_shards",
    "map_step",
    "parallel_map",
    "parallel_sum",
    "reduce_step",
    "some_users",
]
