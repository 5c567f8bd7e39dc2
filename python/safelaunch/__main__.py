"""Becomes the executable that was installed with this package, whatever PATH says."""

import os
import pathlib
import sys
import sysconfig

NOT_FOUND = 127


def places():
    """Where pip puts executables: with this Python, for this user, or beside a package installed with --target."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", f"{os.name}_user")
    yield str(pathlib.Path(__file__).resolve().parents[1] / "bin")


def main():
    for place in places():
        program = os.path.join(place, "safelaunch")
        if os.access(program, os.X_OK):
            os.execv(program, [program, *sys.argv[1:]])
    print(f"safelaunch: its executable is missing from {', '.join(places())}; reinstall the package", file=sys.stderr)
    return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main())
