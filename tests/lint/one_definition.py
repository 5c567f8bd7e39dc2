"""No two sources that are linked together may give the same name to different types: the linker would take one's
functions for the other's.

(Two structs named Setting once did: std::map of the one was filled by code for the other.) A test is linked with all
rooms and with the other tests of its own. Types in unnamed namespaces and nested types are their file's own and not
looked at. Prints each clash and exits with 1.
"""

import collections
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPE = re.compile(
    r"^(?:template\s*<[^;{]*>\s*)?(?:struct|class|union|enum(?: class| struct)?)\s+(?:\[\[.*?\]\]\s*|alignas\(.*?\)\s*)*"
    r"(\w+)(?:\s+final)?\s*(?::(?!:)|\{)", re.M)
UNNAMED = re.compile(r"^namespace \{.*?^\}  // namespace$", re.M | re.S)
NAMESPACE = re.compile(r"^namespace (safelaunch[\w:]*) \{", re.M)
SOURCES = ("include/safelaunch/**/*.h", "launcher/**/*.h", "launcher/**/*.cc", "tests/*.h", "tests/unit/**/*.h", "tests/unit/**/*.cc")


def types_in(text):
    """The names that a source gives to types, as the linker sees them."""
    spaces = NAMESPACE.findall(text) or [""]
    return {f"{spaces[-1]}::{name}" for name in TYPE.findall(UNNAMED.sub("", text))}


def executable(path):
    """Whose part a source is: a room's tests, or of every executable (None)."""
    parts = path.relative_to(ROOT).parts
    return parts[2] if parts[:2] == ("tests", "unit") and len(parts) > 3 else None


def definitions():
    """Type name → the sources that define it at namespace scope."""
    found = collections.defaultdict(set)
    for pattern in SOURCES:
        for path in ROOT.glob(pattern):
            for name in types_in(path.read_text()):
                found[name].add(path)
    return found


def linked_together(one, other):
    return executable(one) is None or executable(other) is None or executable(one) == executable(other)


def clashes():
    for name, paths in sorted(definitions().items()):
        for one, other in itertools.combinations(sorted(paths), 2):
            if linked_together(one, other):
                yield f"{name}: {one.relative_to(ROOT)} and {other.relative_to(ROOT)}"


def main():
    found = list(clashes())
    print("\n".join(found) or "every type has one definition")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
