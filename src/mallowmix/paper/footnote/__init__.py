"""The paper's footnote on separability."""
