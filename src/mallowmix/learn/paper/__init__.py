"""The paper's Algorithms 1 to 4, one file each, and other separable topic models in their place."""
