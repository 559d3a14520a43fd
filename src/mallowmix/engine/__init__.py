"""Where a pass over the people runs: blocks of users, and `reduce`, which sums a step over them in block order."""

from mallowmix.engine.blocks import Block, Shard, make_blocks, make_shards
from mallowmix.engine.threads import LocalEngine

__all__ = ["Block", "LocalEngine", "Shard", "make_blocks", "make_shards"]
