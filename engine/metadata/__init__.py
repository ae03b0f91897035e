"""What the metadata log says: its records, and the image that every node keeps of them.

Start with `image.py`; control/ writes the log.
May import: records, wire.
"""
