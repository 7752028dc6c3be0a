"""Benchmarks over commits, for airspeed velocity."""
