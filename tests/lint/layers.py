"""Holds the direction of includes: a room may include itself and the rooms that its CMakeLists.txt names.

Also: docs/architecture.md tells that direction, every room once and behind all that it uses; heavy headers stay out of public headers, and no path or word of one machine is in the sources.
Run from anywhere; prints each breach as FILE:LINE and exits with 1 if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAVY = re.compile(r'#include <(nlohmann/json\.hpp|yaml-cpp/|boost/asio\.hpp|boost/process|spdlog/|re2/)')
INCLUDE = re.compile(r'#include "safelaunch/(\w+)/')


def named_rooms():
    """Room → the rooms (and libraries of others) that its own CMakeLists.txt names."""
    direct = {}
    for cmake in (ROOT / "launcher").glob("*/CMakeLists.txt"):
        rule = re.search(r"safelaunch_room\((\w+)([^)]*)\)", cmake.read_text())
        if rule:
            direct[rule[1]] = set(re.findall(r"safelaunch_(\w+)", rule[2]))
    return direct


def told_otherwise():
    """Where the direction in docs/architecture.md is not that of the CMakeLists.txt."""
    direct = named_rooms()
    page = (ROOT / "docs/architecture.md").read_text()
    told = re.search(r"^    base ←[^\n]*\n(?:    [^\n]*\n)*", page, re.M)
    groups = [re.findall(r"\w+", group) for group in told[0].split("←")] if told else []
    place = {room: number for number, group in enumerate(groups) for room in group}
    if sorted(room for group in groups for room in group) != sorted(direct):
        yield "docs/architecture.md: the direction of includes does not name every room once"
        return
    for room, uses in sorted(direct.items()):
        for used in sorted(uses & direct.keys()):
            if place[used] >= place[room]:
                yield f"docs/architecture.md: {room} uses {used}, and does not stand behind it"


def allowed_rooms():
    """Room → all rooms that it may include."""
    direct = named_rooms()
    closure = {}
    for room in direct:
        seen, todo = {room}, [room]
        while todo:
            for next_room in direct.get(todo.pop(), ()):
                if next_room not in seen:
                    seen.add(next_room)
                    todo.append(next_room)
        closure[room] = seen
    return closure


def breaches():
    allowed = allowed_rooms()
    for path in sorted([*ROOT.glob("include/safelaunch/*/*.h"), *ROOT.glob("launcher/*/*.cc"), *ROOT.glob("launcher/*/*.h")]):
        room = path.parent.name
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.relative_to(ROOT)}:{number}"
            included = INCLUDE.match(line)
            if included and included[1] not in allowed.get(room, {room}):
                yield f"{where}: room {room} may not include room {included[1]}"
            if path.suffix == ".h" and "include" in path.parts and HEAVY.match(line):
                yield f"{where}: a heavy header in a public header"


def main():
    found = [*breaches(), *told_otherwise()]
    print("\n".join(found) or "every room includes only what it may")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
