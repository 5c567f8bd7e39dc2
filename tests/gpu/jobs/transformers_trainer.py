"""The Trainer of transformers: a tiny model of four layers, in bfloat16, two ranks on one GPU."""

import tempfile

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
                                     num_key_value_heads=4))
rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 256, (64, 32))]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, max_steps=5, per_device_train_batch_size=4, bf16=True, report_to=[], save_strategy="no",
                                  disable_tqdm=True)
    Trainer(model=model, args=arguments, train_dataset=rows).train()
print(f"passed {dist.get_rank()} of {dist.get_world_size()} with {dist.get_backend()}", flush=True)
dist.destroy_process_group()
