"""Writes the Python functions that read and write one message in one version.

Each structure gets two functions, as one would write them by hand: `read_X(b, p)` takes a
buffer and a position and gives the object and the position behind it; `write_X(m, o)`
appends to a bytearray.  Neighboring fields of fixed width become one `struct` call, and
nothing about versions is left to decide at run time.  `engine.wire.codec.source_of` shows
the result.

Two layouts exist.  Classic: 16-bit string lengths, 32-bit array lengths, -1 for null.
Flexible (KIP-482): unsigned varints that hold length + 1, 0 for null, and behind each
structure a section of tagged fields, each with its size, so that a reader can step over
those it does not know.  (Kafka keeps unknown ones and writes them again; here they are
dropped.)

Against hostile bytes three things keep the reader within bounds: an array never has more
elements than bytes are left, every loop consumes at least one byte a turn, and reading
behind the end raises IndexError or struct.error, which the codec turns into
`MalformedMessage`.  A slice does not raise there; the next read does, or the codec's
check of the final position.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from engine.wire.schema import FIXED_WIDTH, NEVER, Field, Message, Struct

_LENGTHS = {"string": "h", "bytes": "i", "records": "i"}
STRING_LENGTH_MAX = 32_767
"""The longest that a classic length can express; Kafka's limit in flexible versions too."""


def source(definition: Message, version: int) -> str:
    """Python source with a reader and a writer for each structure of the message."""
    return _Compiler(definition, version).source()


def _is_fixed(f: Field) -> bool:
    return not f.is_array and f.type in FIXED_WIDTH


class _Compiler:
    """Holds what all functions of one message version share."""

    def __init__(self, definition: Message, version: int) -> None:
        self.definition = definition
        self.version = version
        self.flexible = version in definition.flexible
        self.packers: dict[str, str] = {}
        self.lines: list[str] = []

    def source(self) -> str:
        for each in (*self.definition.structs.values(), self.definition.root):
            self.reader(each)
            self.writer(each)
        packers = (f"{name} = {made}" for name, made in sorted(self.packers.items()))
        return "\n".join((*packers, "", *self.lines))

    # -- pieces shared by readers and writers

    def add(self, depth: int, *lines: str) -> None:
        self.lines += ("    " * depth + line for line in lines)

    def present(self, s: Struct) -> list[Field]:
        return [f for f in s.fields if self.version in f.versions]

    def absent(self, s: Struct) -> list[Field]:
        return [f for f in s.fields if self.version not in f.versions]

    def is_tagged(self, f: Field) -> bool:
        return f.tag is not None and self.flexible

    def tagged(self, s: Struct) -> list[Field]:
        return sorted(filter(self.is_tagged, self.present(s)), key=lambda f: f.tag or 0)

    def runs(self, s: Struct) -> Iterator[tuple[bool, list[Field]]]:
        """The fields of the body, neighbors of fixed width together."""
        body = (f for f in self.present(s) if not self.is_tagged(f))
        for fixed, run in groupby(body, _is_fixed):
            yield fixed, list(run)

    def packer(self, method: str, codes: str) -> str:
        """The name of a bound method of `struct.Struct`, made once, at the top."""
        name = f"{method}_{codes.replace('?', 'T')}"
        self.packers[name] = f"Struct('>{codes}').{method}"
        return name

    def is_compact(self, f: Field) -> bool:
        return self.flexible and not f.never_flexible

    def is_nullable(self, f: Field) -> bool:
        return self.version in f.nullable

    def where(self, f: Field) -> str:
        return f"{f.name} in {self.definition.name} v{self.version}"

    # -- readers

    def reader(self, s: Struct) -> None:
        self.add(0, f"def read_{s.name}(b, p):")
        self.add(1, f"m = new({s.name})")
        for f in self.absent(s) + self.tagged(s):
            self.add(1, f"m.{f.name} = {f.default!r}")
        for fixed, run in self.runs(s):
            if fixed:
                self.read_fixed(1, [f"m.{f.name}" for f in run], run)
            else:
                for f in run:
                    self.read_field(1, f, f"m.{f.name}")
        if self.flexible:
            self.read_tags(self.tagged(s))
        self.add(1, "return m, p")
        self.add(0, "")

    def read_fixed(self, depth: int, targets: list[str], run: list[Field]) -> None:
        codes = "".join(FIXED_WIDTH[f.type] for f in run)
        unpack = self.packer("unpack_from", codes)
        size = struct.calcsize(">" + codes)
        self.add(depth, f"{', '.join(targets)}, = {unpack}(b, p); p += {size}")

    def read_varint(self, depth: int, name: str) -> None:
        self.add(depth, f"{name} = b[p]; p += 1")
        self.add(depth, f"if {name} > 127: {name}, p = decode_uvarint(b, p - 1)")

    def read_tags(self, tagged: list[Field]) -> None:
        if not tagged:
            self.add(1, "p = skip_tags(b, p) if b[p] else p + 1")
            return
        self.read_varint(1, "tags")
        self.add(1, "for _ in range(tags):")
        self.read_varint(2, "tag")
        self.read_varint(2, "size")
        self.add(2, "end = p + size")
        word = "if"
        for f in tagged:
            self.add(2, f"{word} tag == {f.tag}:")
            self.read_field(3, f, f"m.{f.name}")
            word = "elif"
        self.add(2, "else:", "    p = end")
        self.add(2, "if p != end: raise MalformedMessage(f'tagged field {tag} is not {size} long')")

    def read_length(self, depth: int, f: Field, code: str) -> None:
        """Leaves the length in `n`, negative for null; refuses null where it must not be."""
        if self.is_compact(f):
            self.read_varint(depth, "n")
            self.add(depth, "n -= 1")
            if f.type == "string" and not f.is_array:
                self.add(depth, f"if n > {STRING_LENGTH_MAX}: raise MalformedMessage('{f.name}')")
        else:
            unpack = self.packer("unpack_from", code)
            self.add(depth, f"n, = {unpack}(b, p); p += {struct.calcsize(code)}")
        if not self.is_nullable(f):
            self.add(depth, f"if n < 0: raise MalformedMessage('null for {f.name}')")

    def read_field(self, depth: int, f: Field, target: str) -> None:
        if _is_fixed(f):
            self.read_fixed(depth, [target], [f])
            return
        if f.struct is not None and not f.is_array:
            if self.is_nullable(f):
                self.add(depth, "n = b[p]; p += 1")
                null = "n == 0" if self.is_tagged(f) else "n > 127"
                self.add(depth, f"if {null}: {target} = None", "else:")
                depth += 1
            self.add(depth, f"{target}, p = read_{f.type}(b, p)")
            return
        self.read_length(depth, f, "i" if f.is_array else _LENGTHS[f.type])
        if self.is_nullable(f):
            self.add(depth, f"if n < 0: {target} = None", "else:")
            depth += 1
        if f.is_array:
            self.read_array(depth, f, target)
        elif f.type == "string":
            self.add(depth, f"{target} = str(b[p:p + n], 'utf-8', 'replace'); p += n")
        elif f.type == "bytes":
            self.add(depth, f"{target} = bytes(b[p:p + n]); p += n")
        else:
            self.add(depth, f"{target} = b[p:p + n]; p += n")

    def read_array(self, depth: int, f: Field, target: str) -> None:
        code = FIXED_WIDTH.get(f.type)
        size = struct.calcsize(">" + code) if code else 1
        self.add(
            depth,
            f"if {'n' if size == 1 else f'n * {size}'} > len(b) - p:",
            f"    raise MalformedMessage(f'{{n}} elements of {f.name} in {{len(b) - p}} bytes')",
        )
        if code and f.type != "uuid":
            self.add(depth, f"{target} = list(unpack_from(f'>{{n}}{code}', b, p)); p += n * {size}")
            return
        self.add(depth, f"{target} = items = []", "for _ in range(n):")
        self.read_field(depth + 1, _element(f), "item")
        self.add(depth + 1, "items.append(item)")

    # -- writers

    def writer(self, s: Struct) -> None:
        self.add(0, f"def write_{s.name}(m, o):")
        for f in self.absent(s):
            if not f.ignorable:
                message = f"raise UnsupportedField('{self.where(f)}')"
                self.add(1, f"v = m.{f.name}", f"if {_differs(f)}: {message}")
        for fixed, run in self.runs(s):
            if fixed:
                codes = "".join(FIXED_WIDTH[f.type] for f in run)
                values = ", ".join(f"m.{f.name}" for f in run)
                self.add(1, f"o += {self.packer('pack', codes)}({values})")
            else:
                for f in run:
                    self.add(1, f"v = m.{f.name}")
                    self.write_field(1, f)
        if self.flexible:
            self.write_tags(self.tagged(s))
        self.add(1, "return")
        self.add(0, "")

    def write_tags(self, tagged: list[Field]) -> None:
        if not tagged:
            self.add(1, "o.append(0)")
            return
        self.add(1, "whole, tags = o, []")
        for f in tagged:
            # Kafka's default is an empty structure: where null is allowed, it is written.
            is_structure = f.struct is not None and not f.is_array
            differs = "True" if is_structure and self.is_nullable(f) else _differs(f)
            self.add(1, f"v = m.{f.name}", f"if {differs}:")
            self.add(2, "o = bytearray()")
            self.write_field(2, f)
            self.add(2, f"tags.append(({f.tag}, o))")
        self.add(1, "if tags: write_tags(tags, whole)", "else: whole.append(0)")

    def write_length(self, depth: int, f: Field, code: str) -> None:
        if self.is_compact(f):
            self.add(depth, "n = len(v) + 1")
            self.add(depth, "if n < 128: o.append(n)", "else: o += encode_uvarint(n)")
        else:
            self.add(depth, f"o += {self.packer('pack', code)}(len(v))")

    def write_field(self, depth: int, f: Field) -> None:
        """Appends `v` to `o`."""
        if _is_fixed(f):
            self.add(depth, f"o += {self.packer('pack', FIXED_WIDTH[f.type])}(v)")
            return
        depth = self.write_null(depth, f)
        if f.is_array:
            self.write_length(depth, f, "i")
            self.write_array(depth, f)
        elif f.struct is not None:
            self.add(depth, f"write_{f.type}(v, o)")
        else:
            if f.type == "string":
                self.add(depth, "v = v.encode()")
            self.write_length(depth, f, _LENGTHS[f.type])
            held = f.type == "records"
            self.add(
                depth, "o += v if isinstance(v, IN_MEMORY) else insert(v, o)" if held else "o += v"
            )

    def write_null(self, depth: int, f: Field) -> int:
        """Writes None; gives the depth at which the code for any other value continues."""
        if not self.is_nullable(f):
            if f.default is None or f.nullable != NEVER:
                message = f"raise UnsupportedField('None for {self.where(f)}')"
                self.add(depth, f"if v is None: {message}")
            return depth
        is_struct = f.struct is not None and not f.is_array
        if is_struct:
            null = b"\x00" if self.is_tagged(f) else b"\xff"
        elif self.is_compact(f):
            null = b"\x00"
        else:
            null = b"\xff\xff" if f.type == "string" and not f.is_array else b"\xff\xff\xff\xff"
        self.add(depth, f"if v is None: o += {null!r}", "else:")
        if is_struct:
            self.add(depth + 1, "o.append(1)")
        return depth + 1

    def write_array(self, depth: int, f: Field) -> None:
        code = FIXED_WIDTH.get(f.type)
        if code and f.type != "uuid":
            self.add(depth, f"o += pack(f'>{{len(v)}}{code}', *v)")
        elif f.struct is not None:
            self.add(depth, "for each in v:", f"    write_{f.type}(each, o)")
        else:
            self.add(depth, "for v in v:")
            self.write_field(depth + 1, _element(f))


def _element(f: Field) -> Field:
    """An array's element as a field of its own; it cannot be null."""
    return replace(f, is_array=False, nullable=NEVER, default="")


def _differs(f: Field) -> str:
    """The condition under which `v` is not the field's default."""
    if f.default is None:
        return "v is not None"
    if f.is_array:
        return "v is None or len(v)"
    return f"v != {f.default!r}"
