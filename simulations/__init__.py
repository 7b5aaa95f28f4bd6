"""Simulations that check statistical claims, too long for the tests."""
