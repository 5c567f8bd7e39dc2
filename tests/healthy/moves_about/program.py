"""A rank changes its folder, deletes its TMPDIR and the folder in which it stands."""


def command(bench):
    return bench.train("""
import shutil, tempfile
os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp()
stands = tempfile.mkdtemp()
os.chdir(stands)
shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
os.chdir("/")
if RANK == 1: late()
""")
