"""What a command asks of a few users, computed without Numba (`numerics.small_work`)."""
