"""Runs a test's file of Python with a home and a folder for temporary files of its own, and removes them.

    python own_folders.py TEST.py [WORD...]

So what lies in the folders of the person who runs the tests, and what other tests do meanwhile, decides nothing. Only what
costs minutes to make again is shared: what pip has fetched and what compilers have compiled. own_folders.h is the same for
tests in C++.
"""
import os
import pathlib
import shutil
import site
import subprocess
import sys
import tempfile

XDG = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")


def shared(environment):
    """Where the person keeps what the tests share, so far as no variable says it."""
    home = pathlib.Path(environment.get("HOME") or "/")
    cache = pathlib.Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    old_ccache = home / ".ccache"
    places = {
        "SAFELAUNCH_TEST_CACHE": tempfile.gettempdir(),
        "PIP_CACHE_DIR": cache / "pip",
        "CCACHE_DIR": old_ccache if old_ccache.is_dir() else cache / "ccache",
        "PYTHONUSERBASE": site.getuserbase(),  # torch itself may be there
    }
    pip_options = pathlib.Path(environment.get("XDG_CONFIG_HOME") or home / ".config", "pip/pip.conf")
    if pip_options.is_file():
        places["PIP_CONFIG_FILE"] = pip_options
    return {name: str(place) for name, place in places.items() if name not in environment}


def own(environment, folder):
    """The environment with the folders of one test, which are made below `folder`."""
    home, temporary = folder / "home", folder / "tmp"
    # As / and /tmp are: tests change to users who must reach what lies below.
    folder.chmod(0o755)
    home.mkdir()
    temporary.mkdir()
    temporary.chmod(0o1777)
    kept = {name: value for name, value in environment.items() if name not in XDG}
    return {**kept, **shared(environment), "HOME": str(home), "TMPDIR": str(temporary)}


def main(words):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="test-"))  # short: sockets lie below it
    try:
        return subprocess.run([sys.executable, *words], env=own(os.environ, folder)).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.exit(128 - status if status < 0 else status)
