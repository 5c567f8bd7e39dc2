"""Lightning's Trainer with DDP; each rank counts as a machine of its own, as they share one GPU."""

import one_gpu  # noqa: F401  (before torch)
import lightning
import torch


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, _):
        return self.layer(batch[0]).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=8)
trainer = lightning.Trainer(accelerator="gpu", devices=1, num_nodes=2, strategy="ddp", max_epochs=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module(), data)
print(f"passed {trainer.global_rank} of {trainer.world_size}", flush=True)
