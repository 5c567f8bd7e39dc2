"""Each source must compile by itself: it includes, through however many headers, the header of every function, type and
constant of ours that it names. scripts/setup and scripts/test compile a dozen sources at once, where the include of
one serves the next.

(explain.cc once called lower() without strings.h, and only the preset `dev` noticed.) Reads declarations that begin a
line, and takes a name that the source or its headers declare in any other way for theirs. Prints each name that lacks
its header and exits with 1.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IGNORED = re.compile(r'//.*?$|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.M | re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
FUNCTION = re.compile(r"^(?:\[\[\w+\]\] |inline |constexpr )*(?!using|return|struct|class|enum|namespace|template|#)"
                      r"[A-Za-z_][\w:<>,&* ]*?[\s&*>](\w+)\(", re.M)
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum) (?:\[\[\w+\]\] )?(\w+)\b[^;(]*\{", re.M)
ALIAS = re.compile(r"^using (\w+) =", re.M)
CONSTANT = re.compile(r"^inline constexpr [\w:<>,&* ]+?\b(k[A-Z]\w*)\b", re.M)
# Behind the namespaces that it is looked for in: std::, :: and a class's own are none of ours.
NAMED = re.compile(r"(?<![\w.>:])((?:\w*::)*)(\w+(?=\()|[A-Z]\w+|k[A-Z]\w+)")
SYSTEM = {"open", "read"}  # of POSIX too
# A member, a parameter, a variable or a forward declaration: a name behind a type, or indented.
DECLARED = re.compile(r"(?:<(?:class|typename) |^(?:struct|class|enum class) |[\w>&*\]] |[&*])(\w+)(?=\s*[({;=,)\[:>]|$)",
                      re.M)


def plain(path):
    """The code of a file: no comments, no texts."""
    return IGNORED.sub(lambda found: '""' if found[0][0] in "\"R'" else "", path.read_text())


class Tree:
    def __init__(self):
        paths = [path for folder in ("include", "launcher", "tests/unit") for end in ("h", "cc")
                 for path in (ROOT / folder).rglob("*." + end)] + list((ROOT / "tests").glob("*.h"))
        self.sources = sorted(path for path in paths if path.suffix == ".cc")
        self.code = {path: plain(path) for path in paths}
        self.includes = {path: self.included(path) for path in paths}
        self.spaces = {"safelaunch", *(room.name for room in (ROOT / "launcher").iterdir())}
        self.givers = collections.defaultdict(set)
        for path in paths:
            if path.suffix == ".h":
                for pattern in (FUNCTION, TYPE, ALIAS, CONSTANT):
                    for name in pattern.findall(self.code[path]):
                        self.givers[name].add(path)

    def included(self, path):
        """What a file includes of this tree; a header that the build makes has no file here."""
        names = INCLUDE.findall(path.read_text())
        folders = (path.parent, path.parent.parent, ROOT, ROOT / "include", ROOT / "tests", ROOT / "launcher")
        places = [folder / name for name in names for folder in folders]
        return {place.resolve() for place in places if place.is_file()}

    def closure(self, path):
        """A file and all that it includes."""
        seen, rest = set(), [path]
        while rest:
            each = rest.pop()
            if each not in seen:
                seen.add(each)
                rest += self.includes.get(each, ())
        return seen

    def lacking(self, source):
        """The names in a source whose headers it does not include, each with one of those headers."""
        reached = self.closure(source)
        named = {name for spaces, name in NAMED.findall(self.code[source])
                 if not spaces or spaces.split("::")[-2] in self.spaces}
        for name in sorted(named & set(self.givers) - SYSTEM):
            if self.givers[name] & reached:
                continue
            if not any(name in DECLARED.findall(self.code[each]) for each in reached):
                yield name, min(self.givers[name])


def main():
    tree = Tree()
    found = [f"{source.relative_to(ROOT)}: {name} is of {header.relative_to(ROOT)}"
             for source in tree.sources for name, header in tree.lacking(source)]
    print("\n".join(found) or "every source includes what it names")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
