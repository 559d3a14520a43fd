"""The prior of users' weights, learnt with the components held fixed."""
