"""Takes a notebook's composed cluster down when the notebook's kernel is gone.

Containers are children of Docker's daemon, not of the kernel, so a dead kernel does not
end them.  This process is a child of the kernel's reaper: the reaper ends it with SIGTERM
however the kernel died.  Before it exits, it removes the containers as `kafkalab down` does.
"""

from __future__ import annotations

import signal

from kit.clusters import docker


def main() -> None:
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    docker.connect().close()
    signal.sigwait(wanted)
    docker.down()


if __name__ == "__main__":
    main()
