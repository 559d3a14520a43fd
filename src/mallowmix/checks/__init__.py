"""The data report: how much there is, what in it limits the answer, and what to do about it."""
