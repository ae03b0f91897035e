"""Record batches: format, varints, checksums, compression, control records.

Start with `batch.py`; `accelerators.py` is the one module that looks for optional wheels.
May import: wire.
"""
