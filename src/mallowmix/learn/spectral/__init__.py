"""The default estimator: each step a file, called in order by `estimator`."""
