"""Shows on one GPU what one GPU can show, the most valuable first, in eight minutes at most.

    script.py FIGURES [ROW...] [--seconds 480] [--at-once N] [--keep FOLDER] [--doubles]

A ROW is the beginning of a row's name. Each row is a line of JSON, {"row", "ok", "seconds", "said", "why"}, printed and appended
to the file FIGURES among the figures, which have a name, a value and a unit. `said` is the cause that safelaunch named. A row for
which no time was left has "left_out": true. The status is 0 only where all rows are ok. --keep leaves what each row's jobs wrote and
recorded in a folder of the row's name. --doubles is for a machine without a GPU.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "rows"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", metavar="FIGURES")
    parser.add_argument("rows", metavar="ROW", nargs="*")
    parser.add_argument("--seconds", type=int, default=480)
    parser.add_argument("--at-once", type=int, default=max(2, min(8, os.cpu_count() // 2)))
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--doubles", action="store_true")
    return parser.parse_intermixed_args()


def all_rows():
    import costs
    import failing
    import first_calls
    import frameworks
    import gloo
    import jobs
    import programs
    import standstill
    import torchs_own
    import verbs

    return [*verbs.ROWS, *first_calls.HEALTHY, *torchs_own.ROWS, *first_calls.FEW, *failing.ROWS, *standstill.ROWS, *frameworks.ROWS, *programs.ROWS, *gloo.ROWS, *jobs.ROWS,
            *costs.ROWS, *first_calls.REST]


def tell(name, said, seconds, **more):
    from gpu_harness import write

    write({"row": name, "ok": said.ok, "seconds": round(seconds, 1), "said": said.cause, "why": said.why, **more})
    return said.ok


def play(row, end, keep=None):
    """Whether all lines of the row are ok."""
    from row import Said, Scene, short

    left = end - time.monotonic()
    if left < row.usual:
        return tell(row.name, Said(False, None, f"{max(0, left):.0f} s were left, and it takes {row.usual} s"), 0, left_out=True)
    scene = Scene(min(4 * row.usual, left))
    scene.setUp()
    more = {}
    try:
        with contextlib.closing(scene), kept(scene, keep and keep / re.sub(r"\W+", "-", row.name)):
            said = row.play(scene)
    except Exception as error:  # the others are played all the same
        said = Said(False, None, short(f"{type(error).__name__}: {error}"))
        more = {"left_out": True} if time.monotonic() >= end else {}
    seconds = time.monotonic() - scene.began
    return all([tell(name, one, seconds, **more) for name, one in (said if isinstance(said, dict) else {row.name: said}).items()])


@contextlib.contextmanager
def kept(scene, folder):
    try:
        yield
    finally:
        if folder:
            shutil.copytree(scene.folder, folder, symlinks=True, ignore_dangling_symlinks=True)


def play_all(rows, at_once, end, keep):
    """Those that want to be alone on the machine are."""
    for alone, some in itertools.groupby(rows, key=lambda row: row.alone):
        with concurrent.futures.ThreadPoolExecutor(1 if alone else at_once) as pool:
            yield from pool.map(lambda row: play(row, end, keep), some)


def main():
    given = arguments()
    end = time.monotonic() + given.seconds
    os.environ["SAFELAUNCH_GPU_FIGURES"] = os.path.abspath(given.figures)
    from gpu_harness import DOUBLES, SKIPPED, over_doubles, why_no_gpu

    begins = given.doubles and not DOUBLES
    if why := over_doubles.why_not() if begins else why_no_gpu():
        print(f"skipped: {why}")
        return SKIPPED
    if begins:  # anew, with the Python that has torch's CUDA build
        os.environ["SAFELAUNCH_GPU_DOUBLES"] = "1"
        os.execv(over_doubles.PYTHON, [over_doubles.PYTHON, *sys.argv])
    rows = [row for row in all_rows() if (row.over_doubles or not given.doubles)
            and (not given.rows or any(row.name.startswith(name) for name in given.rows))]
    return 0 if rows and all(list(play_all(rows, given.at_once, end, given.keep))) else 1


if __name__ == "__main__":
    sys.exit(main())
