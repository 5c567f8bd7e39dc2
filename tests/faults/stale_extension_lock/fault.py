"""A lock that a killed build left behind: torch waits for a compiler that is long gone."""
import os
import pathlib
import time

EXPECTED = ["lock-left"]  # which proves that nobody holds it; the start of a whole job removes it


def make(bench):
    root = pathlib.Path(bench.folder, "extensions")
    bench.env["TORCH_EXTENSIONS_DIR"] = str(root)
    lock = root / "tiny" / "lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    an_hour_ago = time.time() - 3600
    os.utime(lock, (an_hour_ago, an_hour_ago))


def command(bench):
    return bench.torchrun(bench.script(
        "import os, torch, torch.distributed as dist\nfrom torch.utils.file_baton import FileBaton\n"
        "folder = os.path.join(os.environ['TORCH_EXTENSIONS_DIR'], 'tiny')\n"
        "if os.environ['RANK'] == '1':\n    print(f'Using {os.environ[\"TORCH_EXTENSIONS_DIR\"]} as PyTorch extensions root...', flush=True)\n"
        "    FileBaton(os.path.join(folder, 'lock')).wait()\ndist.init_process_group('gloo')\n"))
