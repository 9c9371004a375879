"""The encoder-decoder in PyTorch: a packed bidirectional GRU and a loop of `GRUCell`."""

import torch
from torch import nn


class TorchSeq2Seq(nn.Module):
    """A BiGRU encoder, additive attention and a GRU decoder.

    Written plainly, as in tutorials, every step projects the keys, attends, updates the state and computes the logits.
    With `hoisted`, the keys are projected once and the output head follows after the loop.
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        units: int,
        embedding: int,
        hoisted: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.hoisted, self.drop = hoisted, nn.Dropout(dropout)
        self.source = nn.Embedding(source_size, embedding, padding_idx=0)
        self.target = nn.Embedding(target_size, embedding)
        self.encoder = nn.GRU(embedding, units, batch_first=True, bidirectional=True)
        self.first = nn.Linear(2 * units, units)
        self.ask, self.key = nn.Linear(units, units, bias=False), nn.Linear(2 * units, units, bias=False)
        self.score = nn.Linear(units, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * units, units)
        self.readout = nn.Linear(3 * units + embedding, units)
        self.logits = nn.Linear(units, target_size)

    def forward(self, source: torch.Tensor, shifted: torch.Tensor) -> torch.Tensor:
        """Return teacher-forced logits."""
        mask = source != 0
        packed = nn.utils.rnn.pack_padded_sequence(
            self.drop(self.source(source)), mask.sum(1), batch_first=True, enforce_sorted=False
        )
        packed, last = self.encoder(packed)
        values = self.drop(nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)[0])
        keys, embedded = self.key(values) if self.hoisted else None, self.drop(self.target(shifted))
        state = torch.tanh(self.first(torch.cat([last[0], last[1]], -1)))
        mixed = []
        for token in embedded.unbind(1):
            keys = keys if self.hoisted else self.key(values)
            logits = self.score(torch.tanh(self.ask(state)[:, None] + keys))[..., 0]
            weights = torch.softmax(logits.masked_fill(~mask, -1e9), -1)
            context = torch.bmm(weights[:, None], values)[:, 0]
            state = self.cell(torch.cat([token, context], -1), state)
            mixed.append(torch.cat([state, context, token], -1))
            if not self.hoisted:
                mixed[-1] = self._said(mixed[-1])
        together = torch.stack(mixed, 1)
        return self._said(together) if self.hoisted else together

    def _said(self, mixed: torch.Tensor) -> torch.Tensor:
        return self.logits(self.drop(torch.tanh(self.readout(mixed))))


class TorchTrainer:
    """A trainer that runs single steps with cross-entropy, clipping and Adam."""

    def __init__(self, model: nn.Module, rate: float, clip: float, smoothing: float = 0.0) -> None:
        self.model, self.clip, self.smoothing = model, clip, smoothing
        self.optimizer = torch.optim.Adam(model.parameters(), rate)

    def step(self, source: object, shifted: object, target: object) -> None:
        """Train on one batch of arrays."""
        source, shifted, target = (torch.tensor(array, dtype=torch.long) for array in (source, shifted, target))
        logits = self.model(source, shifted)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=self.smoothing
        )
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()


class TorchDecoder(TorchSeq2Seq):
    """The decoder of the same model for generation, which computes what depends only on the memory once.

    The end symbol is excluded, so that every answer has its full length.
    """

    def begin(self, values: torch.Tensor, mask: torch.Tensor, summary: torch.Tensor) -> tuple:
        """Return what all steps share, and the initial state."""
        return (values, self.key(values), mask), torch.tanh(self.first(summary))

    def step(self, tokens: torch.Tensor, state: torch.Tensor, memory: tuple) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-probabilities of the next token, and the state."""
        values, keys, mask = memory
        embedded = self.target(tokens)
        scores = self.score(torch.tanh(self.ask(state)[:, None] + keys))[..., 0]
        weights = torch.softmax(scores.masked_fill(~mask, -float("inf")), -1)
        context = torch.bmm(weights[:, None], values)[:, 0]
        state = self.cell(torch.cat([embedded, context], -1), state)
        return torch.log_softmax(self._said(torch.cat([state, context, embedded], -1)), -1), state

    @torch.inference_mode()
    def greedy(self, values: torch.Tensor, mask: torch.Tensor, summary: torch.Tensor, rules: dict) -> tuple:
        """Return tokens `[batch, length]` and scores `[batch]`."""
        memory, state = self.begin(values, mask, summary)
        tokens = torch.full([len(values)], rules["begin"])
        running, scores, said = torch.ones(len(values), dtype=torch.bool), torch.zeros(len(values)), []
        for _ in range(rules["max_length"]):
            found, state = self.step(tokens, state, memory)
            found[:, rules["never"]] = -float("inf")
            gained, tokens = found.max(-1)
            scores += gained.where(running, torch.zeros(()))
            running &= tokens != rules["end"]
            said.append(tokens)
            if not running.any():
                break
        return torch.stack(said, 1), scores

    @torch.inference_mode()
    def beam(self, values: torch.Tensor, mask: torch.Tensor, summary: torch.Tensor, rules: dict, width: int) -> tuple:
        """Return the best answer of each row: tokens `[batch, length]` and scores `[batch]`."""
        memory, state = self.begin(values, mask, summary)
        batch = len(values)
        memory = tuple(one.repeat_interleave(width, 0) for one in memory)
        state = state.repeat_interleave(width, 0)
        tokens = torch.full([batch * width], rules["begin"])
        scores = torch.full([batch, width], -float("inf"))
        scores[:, 0] = 0
        first = (torch.arange(batch) * width)[:, None]
        ended = torch.zeros(batch, width, dtype=torch.bool)
        said = torch.zeros(batch, width, 0, dtype=torch.long)
        for _ in range(rules["max_length"]):
            found, state = self.step(tokens, state, memory)
            found[:, rules["never"]] = -float("inf")
            found = found.view(batch, width, -1)
            if ended.any():  # a complete answer only continues with the end symbol, at no cost
                found[ended] = -float("inf")
                found[..., rules["end"]] = found[..., rules["end"]].where(~ended, torch.zeros(()))
            scores, places = (scores[..., None] + found).flatten(1).topk(width)
            parents, chosen = places // found.shape[-1], places % found.shape[-1]
            rows = (first + parents).flatten()
            tokens, state = chosen.flatten(), state[rows]
            ended = ended.gather(1, parents) | (chosen == rules["end"])
            said = torch.cat([said.gather(1, parents[..., None].expand_as(said)), chosen[..., None]], -1)
            if ended.all():
                break
        return said[:, 0], scores[:, 0]
