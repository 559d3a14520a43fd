"""The paper's Algorithms 1 to 4, one file each, and steps of other separable topic models."""
