"""The captioner of `seqattn train caption` in PyTorch, eager: convolutions, soft attention with a gate, LSTM."""

import torch
from torch import nn


class Norm(nn.Module):
    """A layer normalization over the channels of each cell."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-3)

    def forward(self, found: torch.Tensor) -> torch.Tensor:
        """Normalize a map `[batch, channels, y, x]`."""
        return self.norm(found.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class TorchCaptioner(nn.Module):
    """A captioner: stages of two convolutions, attention to the map at every step, the output head after the loop."""

    def __init__(self, filters: tuple[int, ...], cells: int, vocabulary: int, units: int, embedding: int) -> None:
        super().__init__()
        layers, before = [], 3
        for count in filters:
            for stride in (2, 1):
                layers += [nn.Conv2d(before, count, 3, stride, 1, bias=False), Norm(count), nn.ReLU()]
                before = count
        self.backbone, self.norm = nn.Sequential(*layers), nn.LayerNorm(before, eps=1e-3)
        self.where = nn.Parameter(torch.zeros(cells, before))
        self.shown = nn.Embedding(vocabulary, embedding)
        self.first = nn.ModuleList([nn.Linear(before, units) for _ in range(2)])
        self.ask, self.key = nn.Linear(units, units), nn.Linear(before, units, bias=False)
        self.score, self.gate = nn.Linear(units, 1, bias=False), nn.Linear(units, before)
        self.cell = nn.LSTMCell(embedding + before, units)
        self.readout, self.logits = nn.Linear(units + before + embedding, units), nn.Linear(units, vocabulary)

    def forward(self, pixels: torch.Tensor, shifted: torch.Tensor) -> torch.Tensor:
        """Return teacher-forced logits."""
        found = self.backbone((pixels.permute(0, 3, 1, 2) - 127.5) / 127.5)
        values = self.norm(found.flatten(2).transpose(1, 2)) + self.where
        keys, embedded, mean = self.key(values), self.shown(shifted), values.mean(1)
        state = tuple(torch.tanh(layer(mean)) for layer in self.first)
        mixed = []
        for token in embedded.unbind(1):
            weights = torch.softmax(self.score(torch.tanh(self.ask(state[0])[:, None] + keys))[..., 0], -1)
            context = torch.sigmoid(self.gate(state[0])) * torch.bmm(weights[:, None], values)[:, 0]
            state = self.cell(torch.cat([token, context], -1), state)
            mixed.append(torch.cat([state[0], context, token], -1))
        return self.logits(torch.tanh(self.readout(torch.stack(mixed, 1))))


class TorchTrainer:
    """A trainer that runs single steps with cross-entropy, clipping and Adam."""

    def __init__(self, model: nn.Module, rate: float, clip: float) -> None:
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.Adam(model.parameters(), rate)

    def step(self, pixels: object, shifted: object, target: object) -> None:
        """Train on one batch of arrays."""
        shifted, target = (torch.tensor(array, dtype=torch.long) for array in (shifted, target))
        logits = self.model(torch.tensor(pixels), shifted)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
