"""The hook's tests over the versions of torch that a tester names; skipped where none is named.

    SAFELAUNCH_TEST_TORCHES=2.4.1:2.6.0:/a/venv/bin/python python tests/hook/test_torch_versions.py [FILE...]

A version gets a virtual environment of this Python below SAFELAUNCH_TEST_VENVS (ctest: below the build
folder), which stays for the next time; torch's own wheels have up to 6 GB. FILE limits the tests.
"""
import glob
import os
import re
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
VENVS = os.environ.get("SAFELAUNCH_TEST_VENVS", os.path.join(HERE, "..", "..", "build", "torch-versions"))


def version_of(python):
    """torch's, as that Python imports it; None where there is no such Python, or no torch."""
    try:
        return subprocess.check_output([python, "-c", "import torch; print(torch.__version__)"], text=True,
                                       stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def python_with(named):
    """A Python with what was named: itself, or one of a virtual environment with that version."""
    if os.sep in named:
        return named
    folder = os.path.join(os.path.abspath(VENVS), named)
    python = os.path.join(folder, "bin", "python")
    if (version_of(python) or "").partition("+")[0] != named:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.check_call([python, "-m", "pip", "install", "--quiet", "numpy", "torch==" + named])
    return python


def run(python, file):
    """How one file's tests ended: "22 ok", "18 ok, 3 skipped, 1 FAILED", "skipped"; what failed is printed."""
    done = subprocess.run([python, file], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=HERE)
    if done.returncode == SKIPPED:
        return "skipped"
    total = re.search(r"^Ran (\d+) test", done.stdout, re.MULTILINE)
    if total is None:
        print(done.stdout)
        return "FAILED"
    counts = {name: int(number) for name, number in re.findall(r"(failures|errors|skipped)=(\d+)", done.stdout)}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    skipped = counts.get("skipped", 0)
    if done.returncode != 0:
        print(done.stdout)
        failed = max(failed, 1)
    return ", ".join(["%d ok" % (int(total.group(1)) - failed - skipped)]
                     + ["%d skipped" % skipped] * (skipped > 0) + ["%d FAILED" % failed] * (failed > 0))


def main():
    named = [one for one in os.environ.pop("SAFELAUNCH_TEST_TORCHES", "").split(":") if one]
    if not named:
        print("skipped: SAFELAUNCH_TEST_TORCHES names no version of torch")
        return SKIPPED
    files = sys.argv[1:] or sorted(set(glob.glob(os.path.join(HERE, "test_*.py"))) - {os.path.abspath(__file__)})
    well = True
    for one in named:
        python = python_with(one)
        version = version_of(python)
        for file in files:
            result = run(python, os.path.abspath(file)) if version else "FAILED: no torch in " + python
            well = well and "FAILED" not in result
            print("torch %-14s %-28s %s" % (version, os.path.basename(file), result), flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
