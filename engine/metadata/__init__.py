"""What the metadata log says: its records, and the image that every node keeps of them.

Start with `image.py`; how the log comes about is in control/.
May import: records, wire.
"""
