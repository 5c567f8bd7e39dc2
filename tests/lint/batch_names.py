"""No two sources of a room may give the same name in their unnamed namespaces: scripts/setup and scripts/test compile a
dozen sources of a room at once, and which ones stand in a batch changes with every new source.

(Two constants named kMostRows once broke the demo's build, while each source by itself compiled.) Functions are told
apart by what they take, as the compiler does; an alias may be given again for the same thing. Prints each clash and
exits with 1.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
COMMENT = re.compile(r"//.*$", re.M)
SPACE = re.compile(r"^namespace (safelaunch[\w:]*) \{", re.M)
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class| struct)?)\s+(?:\[\[.*?\]\]\s*)?(\w+)\s*(?:final\s*)?[:{]", re.M)
ALIAS = re.compile(r"^(?:using|namespace) (\w+) = ([^;]+);", re.M)
VARIABLE = re.compile(r"^(?!using |namespace |struct |class |union |enum |template)[\w:][\w:<>,&* ]*?\b(\w+)(?:\[[^\]\n]*\])?\s*(?:=|\{|;)", re.M)
FUNCTION = re.compile(r"^(?!using |struct |class |union |enum )(?:\[\[.*?\]\] )*[\w:][\w:<>,&*\s]*?[\s&*>](\w+)\(([^{;]*?)\)\s*(?:const\s*)?\{", re.M)
PARAMETER_NAME = re.compile(r"\b\w+\s*(?:=[^,]*)?$")


def parameters(text):
    """What a function takes, without the names: "const Rank& rank, int n" → "const Rank&, int"."""
    depth, parts = 0, [""]
    for sign in text:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    bare = (" ".join(part.split()) for part in parts)
    return ", ".join(PARAMETER_NAME.sub("", part).strip() if re.search(r"[\s&*>]\w+$", part) else part for part in bare)


def names_in(text):
    """The names that a source gives in its unnamed namespaces, each with what it stands for where it is an alias."""
    space = (SPACE.findall(text) or [""])[0]
    inside = COMMENT.sub("", "\n".join(UNNAMED.findall(text)))
    own = set(TYPE.findall(inside)) | set(VARIABLE.findall(inside))
    own |= {f"{name}({parameters(taken)})" for name, taken in FUNCTION.findall(inside)}
    given = dict.fromkeys(own, "") | dict(ALIAS.findall(inside))
    return {f"{space}::{name}": meaning for name, meaning in given.items()}


def clashes():
    """A line for each name of a room that two of its sources give."""
    for room in sorted((ROOT / "launcher").iterdir()):
        givers = collections.defaultdict(list)
        for path in sorted(room.glob("*.cc")):
            for name, meaning in names_in(path.read_text()).items():
                givers[name].append((str(path.relative_to(ROOT)), meaning))
        for name, given in sorted(givers.items()):
            alike = given[0][1] and len({meaning for _, meaning in given}) == 1
            if len(given) > 1 and not alike:
                yield f"{name}: {', '.join(path for path, _ in given)}"


def main():
    found = list(clashes())
    print("\n".join(found) or "every unnamed name of a room is given once")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
