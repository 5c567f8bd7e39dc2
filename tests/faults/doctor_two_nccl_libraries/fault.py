"""Known before any launch: LD_LIBRARY_PATH leads to another NCCL than the one beside torch."""
import pathlib
import shutil

EXPECTED = ["nccl-two-libraries"]
VERB = "doctor"


def make(bench):
    packages = bench.folder / "venv/lib/python3.11/site-packages"
    for version, place in (("2.27.5", packages / "nvidia/nccl/lib"), ("2.30.7", bench.folder / "other")):
        place.mkdir(parents=True)
        (place / "libnccl.so.2").write_bytes(b"\x7fELF" + b"\0" * 60 + f"NCCL version {version}+cuda12.4\0".encode())
    (packages / "torch").mkdir()
    (packages / "nvidia_nccl_cu12-2.27.5.dist-info").mkdir()
    (packages / "nvidia_nccl_cu12-2.27.5.dist-info/METADATA").write_text("Name: nvidia-nccl-cu12\nVersion: 2.27.5\n")
    (bench.folder / "venv/bin").mkdir()
    (bench.folder / "venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
    shutil.copy("/bin/true", bench.folder / "venv/bin/python")
    bench.env.update(LD_LIBRARY_PATH=str(bench.folder / "other"))
    bench.options = ["--", str(bench.folder / "venv/bin/python"), "train.py"]
