"""How many bytes wait in Unix sockets: memory that belongs to no process.

A pair of sockets can hold 400 kB of data, and no process shows them.  The kernel tells
about all sockets of the caller's network through netlink, see sock_diag(7): it answers the
message `unix_diag_req` by a `unix_diag_msg` per socket, and one attribute of each is its memory.
"""

from __future__ import annotations

import errno
import socket
import struct

SOCK_DIAG = 4
"""The netlink family NETLINK_SOCK_DIAG."""
DIAG_BY_FAMILY, DUMP = 20, 0x301
ERROR, DONE = 2, 3
ANY_STATE = NO_COOKIE = 0xFFFFFFFF
SHOW_MEMORY = 0x20
MEMORY = 5
"""The attribute UNIX_DIAG_MEMINFO: nine numbers, of which 0 is received and 2 sent."""
HEADER, SOCKET = struct.Struct("=IHHII"), 16
ATTRIBUTE, NUMBERS = struct.Struct("=HH"), struct.Struct("=9I")


def unix_socket_bytes() -> int:
    """The sum over all Unix sockets of this network; 0 where the kernel does not tell it."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as kernel:
            kernel.settimeout(5)
            asked = struct.pack(
                "=BBHIIIII", socket.AF_UNIX, 0, 0, ANY_STATE, 0, SHOW_MEMORY, NO_COOKIE, NO_COOKIE
            )
            kernel.send(HEADER.pack(HEADER.size + len(asked), DIAG_BY_FAMILY, DUMP, 1, 0) + asked)
            total, more = 0, True
            while more:
                held, more = _sum(kernel.recv(1 << 16))
                total += held
            return total
    except (OSError, AttributeError, struct.error):
        return 0


def _sum(messages: bytes) -> tuple[int, bool]:
    """Bytes of the sockets in one packet, and whether more packets follow."""
    total = at = 0
    while at < len(messages):
        length, kind, *_ = HEADER.unpack_from(messages, at)
        if kind == DONE:
            return total, False
        if kind == ERROR:
            raise OSError(errno.EOPNOTSUPP, "this kernel tells nothing about Unix sockets")
        attribute = at + HEADER.size + SOCKET
        while attribute < at + length:
            size, what = ATTRIBUTE.unpack_from(messages, attribute)
            if what == MEMORY:
                numbers = NUMBERS.unpack_from(messages, attribute + ATTRIBUTE.size)
                total += numbers[0] + numbers[2]
            attribute += _aligned(size)
        at += _aligned(length)
    return total, True


def _aligned(size: int) -> int:
    return (max(size, 4) + 3) & ~3
