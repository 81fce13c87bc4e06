# SPDX-License-Identifier: Apache-2.0
"""The shared libraries, by the declarations that were made of their headers (mk/pydeclarations.py)."""
from __future__ import annotations

import dataclasses
import operator
import os
from typing import Any, TypeVar

from ._declarations import ffi

_SONAME = "libdonard.so.0"
_METER_SONAME = "libdonard-meter.so.0"
_MOST_BYTES = 2**64 - 1
_MOST_DESCRIPTORS = 2**31 - 1


def _open(soname: str, package: str) -> Any:
    try:
        return ffi.dlopen(soname)
    except OSError as error:
        raise ImportError(f"{error}. Install the package {package}, or name the folder of {soname} in "
                          "LD_LIBRARY_PATH.") from None


def _load() -> Any:
    library = _open(_SONAME, "libdonard0")
    declared = f"{library.DONARD_VERSION_MAJOR}.{library.DONARD_VERSION_MINOR}"
    found = ffi.string(library.donard_version()).decode()
    if not found.startswith(declared + "."):
        raise ImportError(f"{_SONAME} is of version {found}, and this package of {declared}. Install both of one version.")
    return library


lib = _load()
# Needs the one above, which is loaded already, by the same name.
meter_lib = _open(_METER_SONAME, "libdonard-meter0")


def version() -> str:
    """The version of the library in use."""
    return ffi.string(lib.donard_version()).decode()


def text(pointer: Any) -> str:
    """A string of the library's."""
    return ffi.string(pointer).decode(errors="surrogateescape")


def name(what: str, value: str | os.PathLike[str] | None, *, optional: bool = False) -> Any:
    """A string for the library, of a path or of a region; what: the name of the argument."""
    if value is None and optional:
        return ffi.NULL
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} is no string and no path, but {value!r}")
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"{what} has a null character: {value!r}")
    return ffi.new("char[]", encoded)


def number(what: str, value: Any, most: int) -> int:
    """An integer for the library, from 0 to the most; what: the name of the argument."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is no integer, but {value!r}") from None
    if not 0 <= whole <= most:
        raise ValueError(f"{what} is {whole}; it may be from 0 to {most}")
    return whole


def sizes(**values: Any) -> tuple[int, ...]:
    """Offsets and lengths, by the names of the arguments, in their order."""
    return tuple(number(what, value, _MOST_BYTES) for what, value in values.items())


def descriptor(fd: Any) -> int:
    """An open file, by its number or by what has a fileno()."""
    return number("fd", fd.fileno() if hasattr(fd, "fileno") else fd, _MOST_DESCRIPTORS)


def buffer(what: str, value: Any, *, writable: bool = False) -> Any:
    """Bytes of the caller's."""
    try:
        return ffi.from_buffer(value, require_writable=writable)
    except (TypeError, BufferError):
        pass
    except ValueError:
        memoryview(value)  # raises that of a buffer that was closed; numpy's are about its bytes, as a BufferError is
    wanted = "a buffer that can be written" if writable else "bytes, nor another contiguous buffer"
    raise TypeError(f"{what} is not {wanted}: {type(value).__name__}")


def sized(structure: str, **members: Any) -> Any:
    """A pointer to a structure of the library that says how long it is."""
    pointer = ffi.new(f"struct {structure} *", members)
    pointer.size = ffi.sizeof(pointer[0])
    return pointer


def word(enumeration: str, value: int) -> str:
    """The word for a value: each enumeration has a call of its own for that."""
    stem = enumeration.removeprefix("enum ").removesuffix("_type" if enumeration == "enum donard_route_type" else "")
    return text(getattr(lib, stem + "_text")(value))


def _value(ctype: Any, value: Any) -> Any:
    if ctype.kind == "enum":
        return word(ctype.cname, value)
    if ctype.kind in ("pointer", "array") and ctype.item.cname == "char":
        return None if value == ffi.NULL else text(value)
    return value


class Owner:
    """What closes a handle of the library's. A copy would go on using the handle when this has closed it."""

    def __reduce__(self) -> Any:
        """For copy and pickle."""
        raise TypeError(f"a donard.{type(self).__name__} cannot be copied or pickled: it alone closes what it stands for. Pass on "
                        "the object itself.")


_R = TypeVar("_R", bound="Record")


class Record:
    """A dataclass whose fields are members of a structure of the library."""

    @classmethod
    def _members(cls, pointer: Any) -> dict[str, Any]:
        types = {member: field.type for member, field in ffi.typeof(pointer[0]).fields}
        return {field.name: _value(types[field.name], getattr(pointer, field.name))
                for field in dataclasses.fields(cls) if field.name in types}  # type: ignore[arg-type]

    @classmethod
    def _of(cls: type[_R], pointer: Any, **more: Any) -> _R:
        return cls(**{**cls._members(pointer), **more})

    def as_dict(self) -> dict[str, Any]:
        """The record as json.dumps() takes it."""
        return dataclasses.asdict(self)  # type: ignore[call-overload]
