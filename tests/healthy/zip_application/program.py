"""The program is a zip file, as zipapp and pex make them."""
import sys
import zipfile

CUDA = "it has no torch"


def command(bench):
    with zipfile.ZipFile(bench.folder / "job.pyz", "w") as archive:
        archive.writestr("__main__.py", "import part, sys\nprint(part.VALUE, len(sys.argv))\n")
        archive.writestr("part.py", "VALUE = 5\n")
    return [sys.executable, str(bench.folder / "job.pyz")]
