"""Headers of the archives that travel in and out of a box: ustar, and PAX where it must be.

Only what is written here is read: regular files, folders, symbolic links, and one type of our
own, REFUSED, which names something that was not packed and says why in place of a link target.
Numbers are octal digits; the only PAX keys are path, linkpath and size.
"""

from struct import Struct

from runners.supervisor.fault import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash

__all__ = [
    "BLOCK",
    "END",
    "FILE",
    "FOLDER",
    "LINK",
    "PAX",
    "REFUSED",
    "header",
    "leads_out",
    "parse",
    "pax",
    "sha256",
]

BLOCK = 512
ZEROS = bytes(BLOCK)
END = ZEROS + ZEROS
FILE, FOLDER, LINK, PAX = b"0", b"5", b"2", b"x"
REFUSED = b"R"  # the range A-Z is left to vendors by POSIX
KNOWN = (FILE, FOLDER, LINK, PAX, REFUSED)
NAMES = {
    b"1": "a hard link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a FIFO",
    b"7": "a contiguous file",
    b"S": "a sparse file",
    b"g": "a global header",
    b"L": "a GNU long name",
    b"K": "a GNU long link",
}

FIELDS = Struct("100s 8s 16s 12s 12s 8s 1s 100s 8s 247s")
OWNER = b"0000000\0" * 2
MAGIC = b"ustar\00000"
UNUSED = bytes(247)
# What the checksum counts beside name, mode, size, time, type and link: the constant fields, and
# its own field as eight blanks.
CONSTANT = sum(OWNER) + sum(MAGIC) + 8 * 32
MAX_OCTAL = 8**11 - 1
MAX_PAX = 1 << 16
MAX_KNOWN = 1 << 12

_hashes: "list[Callable[[bytes], _Hash]]" = []
_numbers = {}  # type: dict[bytes, tuple[int, int]]
_fields = {}  # type: dict[tuple[int, int], tuple[bytes, int]]


def header(
    path: bytes, kind: bytes, mode: int, size: int = 0, mtime: int = 0, target: bytes = b""
) -> bytes:
    """The header blocks of one entry."""
    before = b""
    if len(path) > 100 or len(target) > 100 or size > MAX_OCTAL:
        before = extended(path, size, target)
        path, target, size = path[:100], target[:100], min(size, MAX_OCTAL)
    mode_field, mode_sum = field(mode, 7)
    size_field, size_sum = field(size, 11)
    time_field, time_sum = field(min(max(mtime, 0), MAX_OCTAL), 11)
    total = CONSTANT + sum(path) + mode_sum + size_sum + time_sum + kind[0] + sum(target)
    checksum = b"%06o\0 " % total
    return before + FIELDS.pack(
        path, mode_field, OWNER, size_field, time_field, checksum, kind, target, MAGIC, b""
    )


def field(value: int, width: int) -> "tuple[bytes, int]":
    """A number field and the sum of its bytes; most come again and again."""
    known = _fields.get((value, width))
    if known is None:
        made = b"%0*o\0" % (width, value)
        known = made, sum(made)
        if len(_fields) < MAX_KNOWN:
            _fields[value, width] = known
    return known


def extended(path: bytes, size: int, target: bytes) -> bytes:
    """A PAX header with whatever does not fit."""
    records = b""
    if len(path) > 100:
        records += record(b"path", path)
    if len(target) > 100:
        records += record(b"linkpath", target)
    if size > MAX_OCTAL:
        records += record(b"size", b"%d" % size)
    return header(b"PaxHeader", PAX, 0o644, len(records)) + records + bytes(-len(records) % BLOCK)


def record(key: bytes, value: bytes) -> bytes:
    """One PAX record; its length counts its own digits."""
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest)
    while len(b"%d" % length) + len(rest) != length:
        length = len(b"%d" % length) + len(rest)
    return b"%d" % length + rest


def parse(block: bytes) -> "tuple[bytes, bytes, int, int, int, bytes]":
    """Path, type, mode, size, time and link target of a header block; anything odd is refused."""
    path, modes, owner, sizes, times, checksum, kind, target, magic, rest = FIELDS.unpack(block)
    if magic != MAGIC or owner != OWNER or rest != UNUSED:
        raise damaged("a header is not ustar, or has fields that are not used here")
    path, target = path.rstrip(b"\0"), target.rstrip(b"\0")
    mode, mode_sum = number(modes)
    size, size_sum = number(sizes)
    mtime, time_sum = number(times)
    total = CONSTANT + sum(path) + mode_sum + size_sum + time_sum + kind[0] + sum(target)
    if total != number(checksum)[0]:
        raise damaged("a checksum is wrong")
    if kind not in KNOWN:
        raise damaged("it holds %s" % NAMES.get(kind, "an entry of unknown type"))
    if b"\0" in path or b"\0" in target:  # nothing may hide behind one
        raise damaged("a name holds a NUL")
    return path, kind, mode, size, mtime, target


def number(field: bytes) -> "tuple[int, int]":
    """What a number field says, and the sum of its bytes; most come again and again."""
    known = _numbers.get(field)
    if known is None:
        known = octal(field), sum(field)
        if len(_numbers) < MAX_KNOWN:
            _numbers[field] = known
    return known


def octal(field: bytes) -> int:
    """A number field: octal digits alone, ended by NUL or blank."""
    digits = field.rstrip(b" \0")
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        raise damaged("a number is not octal")
    return int(digits, 8)


def pax(data: bytes) -> "dict[bytes, bytes]":
    """The records of a PAX header: path, linkpath and size, each at most once."""
    found = {}  # type: dict[bytes, bytes]
    while data:
        digits, blank, _ = data.partition(b" ")
        if not blank or not digits.isdigit() or len(digits) > 6:
            raise damaged("a PAX record has no length")
        length = int(digits)
        if length > len(data):
            raise damaged("a PAX record is cut")
        line, data = data[len(digits) + 1 : length], data[length:]
        key, equals, value = line.partition(b"=")
        if not equals or not value.endswith(b"\n") or b"\0" in value:
            raise damaged("a PAX record is malformed")
        if key not in (b"path", b"linkpath", b"size") or key in found:
            raise damaged("a PAX record is not one of path, linkpath, size")
        found[key] = value[:-1]
    return found


def damaged(why: str) -> Refusal:
    """The refusal of an archive."""
    return Refusal("other", b"", "the archive is not acceptable: %s" % why)


def leads_out(path: bytes, target: bytes) -> bool:
    """Whether a link could lead out of its tree.

    ``..`` may only stand at the beginning of a target: behind another link it would climb from
    where that one leads, which the text does not show.
    """
    if target.startswith(b"/") or b"\0" in target or not target:
        return True
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    climbs = 0
    while climbs < len(parts) and parts[climbs] == b"..":
        climbs += 1
    return climbs > path.count(b"/") or b".." in parts[climbs:]


def shown(path: bytes) -> str:
    """A path for people: whatever is not plain text is escaped."""
    return repr(path[:200])[2:-1]


def sha256(data: bytes = b"") -> "_Hash":
    """A digest in the making; imported late, since a box needs none."""
    if not _hashes:
        from hashlib import sha256 as start

        _hashes.append(start)
    return _hashes[0](data)
