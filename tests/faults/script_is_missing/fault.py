"""The script's name is wrong."""
EXPECTED = ["script-missing"]


def command(bench):
    return bench.torchrun(str(bench.folder / "trian.py"))
