"""Tests that need a cluster engine; a package, so that its fixtures have a name of their own."""
