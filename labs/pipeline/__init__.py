"""The fleet's topics become bronze, silver and gold; a record counts once, even after a crash."""
