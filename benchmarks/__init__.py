"""Benchmarks: mallowmix beside what one would use instead, on the same data in the same run.

`python -m benchmarks`.
"""
