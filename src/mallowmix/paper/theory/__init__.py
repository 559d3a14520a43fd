"""The bounds of the paper's theory: the propositions of its appendix and Theorem 2."""
