"""Foundations: sizes and guards, the state of a trace, forks, signals, checks of arguments."""
