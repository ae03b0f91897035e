"""The whole pipeline from a terminal, what `kafkalab pipeline` starts.

python pipeline.py --source engine|local|docker --events 200000 --seed 7
"""

from __future__ import annotations

import sys
from pathlib import Path

# So that the file runs as it lies there, whether or not the kit is installed.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from kit.pipeline import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
