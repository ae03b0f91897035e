"""A function of a notebook, on its way to another process.

Pickle sends a function by its name, and the other process cannot import a notebook.  So the
code itself travels, with the values that it uses from outside: modules by name, functions of the
same notebook in the same way, classes of the notebook as source, everything else by pickle.

Both ends run the same Python.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import inspect
import linecache
import marshal
import pickle
import textwrap
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import confluent_kafka

Parcel = tuple[Any, ...]


class NotShipped(ValueError):
    """The function uses something that cannot leave the notebook; the text names it."""


def pack(function: FunctionType) -> bytes:
    """The function and all that it uses, as bytes."""
    packer = _Packer(function.__module__)
    root = packer.function(function)
    lines = linecache.getlines(function.__code__.co_filename)
    return pickle.dumps((root, packer.shared, function.__code__.co_filename, lines))


def unpack(parcel: bytes) -> FunctionType:
    """The function, in a namespace of its own."""
    root, shared, file, lines = pickle.loads(parcel)
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    return _Unpacker(shared).function(root)


class _Packer:
    """`shared` has the values that the functions use by their global names."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.shared: dict[str, Parcel] = {}

    def function(self, function: FunctionType) -> Parcel:
        for name in _globals(function.__code__):
            if name in function.__globals__ and name not in self.shared:
                self.shared[name] = ("pending",)
                self.shared[name] = self.value(name, function.__globals__[name])
        closure = [
            self.value(name, cell.cell_contents) if _is_filled(cell) else ("empty",)
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            )
        ]
        defaults = [self.value("a default", each) for each in function.__defaults__ or ()]
        named = {
            key: self.value(key, each) for key, each in (function.__kwdefaults__ or {}).items()
        }
        return (
            "function",
            function.__name__,
            marshal.dumps(function.__code__),
            closure,
            defaults,
            named,
        )

    def value(self, name: str, value: Any) -> Parcel:
        own = getattr(value, "__module__", None) == self.module
        if isinstance(value, ModuleType):
            return "module", value.__name__
        if isinstance(value, FunctionType) and own:
            return self.function(value)
        if isinstance(value, type) and own:
            return self._class(name, value)
        if getattr(confluent_kafka, getattr(value, "__name__", ""), None) is value:
            return "client", str(
                getattr(value, "__name__", "")
            )  # its classes name a module that is not there
        try:
            return "pickle", pickle.dumps(value)
        except Exception as reason:
            raise NotShipped(
                f"The loop uses {name}, a {type(value).__name__} that cannot be taken to another "
                f"process ({reason}): make it inside the loop."
            ) from None

    def _class(self, name: str, value: type) -> Parcel:
        try:
            source = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):
            raise NotShipped(
                f"The loop uses the class {name}, whose source cannot be read: define it inside "
                "the loop."
            ) from None
        code = compile(source, f"<{name}>", "exec")
        home = vars(inspect.getmodule(value) or builtins)
        for used in _globals(code):
            if used in home and used != name and used not in self.shared:
                self.shared[used] = ("pending",)
                self.shared[used] = self.value(used, home[used])
        return "class", value.__name__, source


class _Unpacker:
    def __init__(self, shared: dict[str, Parcel]) -> None:
        self.names: dict[str, Any] = {"__builtins__": builtins, "__name__": "__main__"}
        classes = {name: parcel for name, parcel in shared.items() if parcel[0] == "class"}
        for name, parcel in shared.items():
            if name not in classes:
                self.names[name] = self.value(parcel)
        for _, parcel in classes.items():
            exec(parcel[2], self.names)

    def function(self, parcel: Parcel) -> FunctionType:
        _, name, code, closure, defaults, named = parcel
        cells = tuple(
            CellType() if each == ("empty",) else CellType(self.value(each)) for each in closure
        )
        function = FunctionType(
            marshal.loads(code), self.names, name, tuple(map(self.value, defaults)), cells
        )
        function.__kwdefaults__ = {key: self.value(each) for key, each in named.items()}
        return function

    def value(self, parcel: Parcel) -> Any:
        match parcel[0]:
            case "module":
                return importlib.import_module(parcel[1])
            case "client":
                return getattr(confluent_kafka, parcel[1])
            case "function":
                return self.function(parcel)
            case "pickle":
                return pickle.loads(parcel[1])
        return None


def _globals(code: CodeType) -> Iterator[str]:
    """The names that a piece of code, or code inside it, looks up outside."""
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield each.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
