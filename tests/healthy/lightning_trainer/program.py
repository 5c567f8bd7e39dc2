"""Lightning's Trainer (ddp): rank 0 is the script, which starts its children with LOCAL_RANK and no RANK; rank 1 works before it comes."""
import sys

NEEDS = ["lightning"]


def command(bench):
    return [sys.executable, bench.program("""
if os.environ.get("LOCAL_RANK") == "1": late()
import logging, warnings, torch, lightning
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, index):
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

trainer = lightning.Trainer(accelerator="cpu" if BACKEND == "gloo" else "cuda", devices=2, strategy="ddp", max_steps=3, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
note("waits")
trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(16, 2), batch_size=2))
say(f"rank {trainer.global_rank} of {trainer.world_size}: {trainer.global_step} steps")
""", end="")]
