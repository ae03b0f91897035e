"""The protocol: schemas, codec, framing, error codes.

Start with `schema.py` (the language of schemas/*.schema) and `messages.pyi` (every message).
May import: nothing.
"""
