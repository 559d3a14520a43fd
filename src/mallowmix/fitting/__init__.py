"""From comparisons to a fitted model: fit, update, the choice of K, calibration."""
