"""Forward and backward of the layers that training scripts are made of, on one device."""

import torch
from torch import nn

DEVICE = "cuda"


def trains(module, *inputs):
    module = module.to(DEVICE)
    output = module(*(one.to(DEVICE) for one in inputs))
    output = output[0] if isinstance(output, tuple) else output
    optimizer = torch.optim.AdamW(module.parameters())
    output.sum().backward()
    nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    optimizer.step()
    torch.cuda.synchronize()


trains(nn.Linear(8, 8), torch.zeros(4, 8))
trains(nn.Embedding(10, 16), torch.zeros(2, 5, dtype=torch.long))
trains(nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2), torch.zeros(2, 5, 16))
trains(nn.LSTM(8, 16, 2, bidirectional=True, dropout=0.1), torch.zeros(5, 2, 8))
trains(nn.GRU(8, 16), torch.zeros(5, 2, 8))
trains(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(10)),
       torch.zeros(2, 3, 16, 16))
for dtype in torch.float32, torch.bfloat16:
    query = torch.zeros(2, 4, 8, 64, device=DEVICE, dtype=dtype, requires_grad=True)
    nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True).sum().backward()
nn.functional.cross_entropy(torch.zeros(4, 10, device=DEVICE, requires_grad=True), torch.zeros(4, device=DEVICE, dtype=torch.long)).backward()

net, scaler = nn.Linear(8, 8).to(DEVICE), torch.amp.GradScaler("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.autocast("cuda", dtype=torch.float16):
    loss = net(torch.zeros(4, 8, device=DEVICE)).sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
print("all layers trained")
