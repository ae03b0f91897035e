"""Event time and joins: watermarks, windows, sessions, stream-stream joins and their state."""
