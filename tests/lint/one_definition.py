"""No two rooms may give the same name to different types: the linker would take one's functions for the other's.

(Two structs named Setting once did: std::map of the one was filled by code for the other.) Types in unnamed
namespaces and nested types are their file's own and not looked at. Prints each clash and exits with 1.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPE = re.compile(r"^(?:struct|class|enum class|using)\s+(\w+)(?:\s+final)?\s*(?::(?!:)|[{=])", re.M)
UNNAMED = re.compile(r"^namespace \{.*?^\}  // namespace$", re.M | re.S)


def definitions():
    """Type name → the files that define it at namespace scope."""
    found = collections.defaultdict(set)
    for pattern in ("include/safelaunch/*/*.h", "launcher/*/*.h", "launcher/*/*.cc"):
        for path in ROOT.glob(pattern):
            for name in TYPE.findall(UNNAMED.sub("", path.read_text())):
                found[name].add(str(path.relative_to(ROOT)))
    return found


def main():
    clashes = [f"{name}: {' and '.join(sorted(files))}" for name, files in sorted(definitions().items()) if len(files) > 1]
    print("\n".join(clashes) or "every type has one definition")
    sys.exit(bool(clashes))


if __name__ == "__main__":
    main()
