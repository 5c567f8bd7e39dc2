"""The child that Lightning's Trainer starts, with LOCAL_RANK and no RANK, sleeps before it comes to the Trainer."""
import sys

EXPECTED = ["rank-missing"]
NEEDS = ["lightning"]
OPTIONS = ["--work-timeout", "60s"]  # the import of torch is much work


def command(bench):
    return [sys.executable, bench.script("""
import os, time, torch
def prepares_its_data():
    time.sleep(3600)
if os.environ.get("LOCAL_RANK") == "1": prepares_its_data()
import lightning
from lightning.pytorch.demos.boring_classes import BoringModel
trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_checkpointing=False)
trainer.fit(BoringModel())
""")]
