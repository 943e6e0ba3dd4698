"""System calls that Python 3.8 has no function for, without the cost of importing ctypes."""

import _ctypes
import errno
import posix as os
from _struct import Struct

__all__ = ["ARM64", "address", "buffer", "missing", "openat2", "prctl", "syscall"]

ARM64 = os.uname().machine == "aarch64"

PRCTL = 167 if ARM64 else 157


class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A machine word, as ctypes.c_long is; plain ints would be cut to 32 bits."""

    _type_ = "l"


class Byte(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """One byte of a buffer."""

    _type_ = "c"


class Function(_ctypes.CFuncPtr):
    """A C function that answers a long and sets errno."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Long


ZEROS = (Long(0),) * 6

_library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None: what is loaded already
_call = Function(_ctypes.dlsym(_library, "syscall"))


def syscall(number: int, *words: "int | bytes") -> int:
    """The result of a system call; OSError where the kernel says no.

    Bytes are passed as the address of their first byte: the kernel may read them, never write.
    """
    full = [word if word.__class__ is bytes else Long(word) for word in words]
    result: int = _call(Long(number), *full, *ZEROS[len(full) :])
    if result == -1:
        code = _ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, *words: "int | bytes") -> int:
    """The process control call."""
    return syscall(PRCTL, option, *words)


def buffer(data: bytes) -> "_ctypes.Array[Byte]":
    """Memory that stays where it is, for structures that hold an address; keep it alive."""
    kind = type("Buffer", (_ctypes.Array,), {"_type_": Byte, "_length_": len(data)})
    made: _ctypes.Array[Byte] = kind.from_buffer_copy(data)  # type: ignore[attr-defined]
    return made


def address(memory: "_ctypes.Array[Byte]") -> int:
    """Where a buffer is."""
    return int(_ctypes.addressof(memory))


OPENAT2 = 437
RESOLVE_NO_MAGICLINKS = 2
RESOLVE_BENEATH = 8
HOW = Struct("=QQQ")


def openat2(folder: int, name: bytes, flags: int, mode: int) -> int:
    """Open a path that may not leave ``folder``, by whatever link or ``..``."""
    how = HOW.pack(flags, mode, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)
    return syscall(OPENAT2, folder, name, how, HOW.size)


def missing(error: OSError) -> bool:
    """Whether a call is unknown here; old container engines answer EPERM for unknown ones."""
    return error.errno in (errno.ENOSYS, errno.EPERM)
