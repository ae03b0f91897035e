"""`up`, `status` and `down`, in a process table of their own.

`down` ends the shared clusters of the account; here it must not see those of other tests, so the
commands run where no process but theirs exists.
"""

from __future__ import annotations

from tests.real_clusters import run_apart

SESSION = """
kafkalab() { "$PYTHON" -m kit.cli "$@"; }
kafkalab status
kafkalab up engine
kafkalab up engine
kafkalab status
"$PYTHON" -c "
import subprocess, sys
from kit import lab
print(lab.engine(private=True).brokers)
for words in (['down'], ['down', '--all']):
    done = subprocess.run([sys.executable, '-m', 'kit.cli', *words], capture_output=True, text=True)
    print(done.stdout, done.stderr)
"
kafkalab down
ps -e -o args= | grep -c '[-]m engine' || true
"""


def test_a_shared_engine_stays_until_down_and_leaves_nothing() -> None:
    done = run_apart(SESSION)
    lines = done.stdout.splitlines()
    assert lines[0] == "No cluster is up. Start one with: kafkalab up engine", done.stderr
    stays_up = "It stays up until you run: kafkalab down. bootstrap.servers=127.0.0.1:"
    assert lines[1].startswith(stays_up), done.stderr
    address = lines[1].split("=")[1]
    assert lines[2] == f"It is up already. bootstrap.servers={address}"
    assert "engine    shared  " + address in done.stdout
    first, second = done.stdout.split("will end: ")
    assert "[101, 102, 103]" in first, done.stderr
    assert "goes on: cluster engine-" in first
    assert "To end these as well, run: kafkalab down --all" in first
    assert "removed cluster engine-" in first, "the shared one"
    assert "which belongs to the open notebook or program" in second
    assert "Nothing of the kit is running now." in second
    assert lines[-2:] == ["Nothing of the kit was running.", "0"]
