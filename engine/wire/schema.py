"""The notation in which the protocol's messages are written down, and its reader.

Kafka defines every request, response and stored record as a list of fields, each with
the range of versions that carry it.  `schemas/*.schema` holds those definitions as
indented text, one file per API:

    FetchRequest key=1 versions=4-18 flexible=12+ listeners=broker,controller
        replica_id    int32       4-14  =-1
        max_bytes     int32       =2147483647  ~
        topics        []FetchTopic
            topic     string      4-12  ~
            topic_id  uuid        13+   ~

The first line has the message's name, API key, versions, which of them are flexible, and
which listeners take the request; `unstable` marks a latest version that Kafka does not
offer yet.  Every other line is `name type [versions] [tag=N] [=default] [~]`:

* no versions means: in every version of the message; `13+` and `4-12` narrow that
* `?` after a type allows null, `?7+` allows it from version 7 on
* `tag=N` puts the field into the tagged section of flexible versions (KIP-482)
* `~` (Kafka's *ignorable*): a value that an older version cannot carry is dropped
  silently; without the mark, encoding a non-default value there is an error
* `flexible=none` keeps the classic layout of one field in flexible versions too
* deeper lines are the fields of a structure; `struct Name` declares a structure that
  several fields share

What is not modelled: entity types, map keys and descriptions, which have no effect on
the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import resources

FOREVER = 32767
FIXED_WIDTH = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "bool": "?",
    "uuid": "16s",
}
PRIMITIVES = {*FIXED_WIDTH, "string", "bytes", "records"}


@dataclass(frozen=True)
class Versions:
    """An inclusive range of versions; empty when `low > high`."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    @staticmethod
    def parse(text: str) -> Versions:
        """Reads `3+`, `4-12`, `7` or `none`."""
        if text == "none":
            return NEVER
        if text.endswith("+"):
            return Versions(int(text[:-1]), FOREVER)
        low, _, high = text.partition("-")
        return Versions(int(low), int(high or low))


NEVER = Versions(1, 0)
ALWAYS = Versions(0, FOREVER)


@dataclass(frozen=True)
class Field:
    """One field of a structure; `struct` is set when its (element) type is a structure."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: object
    ignorable: bool
    never_flexible: bool
    struct: Struct | None = None


@dataclass
class Struct:
    """A named list of fields."""

    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass
class Message:
    """A request, a response, or a stored record: its structure and its version ranges."""

    root: Struct
    structs: dict[str, Struct]
    api_key: int | None
    versions: Versions
    flexible: Versions
    listeners: tuple[str, ...]
    latest_is_unstable: bool
    text: str

    @property
    def name(self) -> str:
        return self.root.name


def _default(type_name: str, is_array: bool, text: str | None) -> object:
    if text == "null":
        return None
    if is_array:
        return []
    match type_name:
        case "string":
            return text or ""
        case "bytes" | "records":
            return b""
        case "uuid":
            return bytes(16)
        case "bool":
            return text == "true"
        case "float64":
            return float(text or 0)
    return int(text or 0) if type_name in FIXED_WIDTH else None


def _field(words: list[str], structs: dict[str, Struct]) -> Field:
    name, type_text, *rest = words
    type_text, nullable_mark, nullable_from = type_text.partition("?")
    is_array = type_text.startswith("[]")
    type_name = type_text.removeprefix("[]")
    versions, tag, default, ignorable, never_flexible = ALWAYS, None, None, False, False
    for word in rest:
        if word == "~":
            ignorable = True
        elif word == "flexible=none":
            never_flexible = True
        elif word.startswith("tag="):
            tag = int(word[4:])
        elif word.startswith("="):
            default = word[1:]
        else:
            versions = Versions.parse(word)
    nullable = NEVER
    if nullable_mark:
        nullable = Versions.parse(nullable_from) if nullable_from else ALWAYS
    struct = None
    if type_name not in PRIMITIVES:
        struct = structs.setdefault(type_name, Struct(type_name))
    return Field(
        name,
        type_name,
        is_array,
        versions,
        nullable,
        tag,
        _default(type_name, is_array, default),
        ignorable,
        never_flexible,
        struct,
    )


def parse(text: str) -> list[Message]:
    """Reads schema text into messages, in the order of the text."""
    messages: list[Message] = []
    for block in text.strip().split("\n\n"):
        lines = [line for line in block.splitlines() if line.split("#")[0].strip()]
        name, *attributes = lines[0].split()
        options = dict(a.split("=", 1) for a in attributes if "=" in a)
        root = Struct(name)
        structs: dict[str, Struct] = {}
        open_structs = [root]
        for line in lines[1:]:
            depth = (len(line) - len(line.lstrip())) // 4
            words = line.split("#")[0].split()
            del open_structs[depth:]
            if words[0] == "struct":
                open_structs.append(structs.setdefault(words[1], Struct(words[1])))
                continue
            parsed = _field(words, structs)
            open_structs[-1].fields.append(parsed)
            if parsed.struct is not None:
                open_structs.append(parsed.struct)
        key = options.get("key")
        messages.append(
            Message(
                root,
                structs,
                int(key) if key is not None else None,
                Versions.parse(options["versions"]),
                Versions.parse(options.get("flexible", "none")),
                tuple(filter(None, options.get("listeners", "").split(","))),
                "unstable" in attributes,
                "\n".join(lines),
            )
        )
    return messages


def _camel(file_stem: str) -> str:
    return "".join(part.capitalize() for part in file_stem.split("_"))


RECORD_FILES = (
    "headers",
    "metadata_records",
    "group_records",
    "consumer_group_records",
    "transaction_records",
    "control_records",
    "producer_snapshot",
    "remote_log_metadata",
)
"""Schema files that do not hold one request and its response."""


@cache
def load_file(stem: str) -> dict[str, Message]:
    """The messages of `schemas/<stem>.schema`, by name."""
    text = (resources.files(__package__) / "schemas" / f"{stem}.schema").read_text("utf-8")
    return {message.name: message for message in parse(text)}


@cache
def api_files() -> dict[str, str]:
    """API name in Kafka's spelling (`OffsetCommit`) to the stem of its schema file."""
    folder = resources.files(__package__) / "schemas"
    stems = sorted(entry.name.removesuffix(".schema") for entry in folder.iterdir())
    return {_camel(stem): stem for stem in stems if stem not in RECORD_FILES}


def find(name: str) -> Message:
    """The definition of a message by name; KeyError if there is none."""
    for suffix in ("Request", "Response"):
        stem = api_files().get(name.removesuffix(suffix))
        if name.endswith(suffix) and stem is not None:
            return load_file(stem)[name]
    for stem in RECORD_FILES:
        if name in load_file(stem):
            return load_file(stem)[name]
    raise KeyError(name)
