"""A tagger and a parser in plain PyTorch: BiLSTM with `pytorch-crf`, BiLSTM and biaffine scores with torch-struct."""

import warnings
from collections.abc import Callable

import torch
import torch_struct
from torch import nn
from torchcrf import CRF

warnings.filterwarnings("ignore", module="torch_struct")


def one_root(arcs: torch.Tensor, lengths: torch.Tensor) -> torch_struct.DependencyCRF:
    """Return projective trees with one root; `arcs [batch, words, root and words]` has a row for each dependent."""
    potentials = _by_head(arcs)
    if not potentials.requires_grad:
        potentials.requires_grad_()  # torch-struct fails without this
    return torch_struct.DependencyCRF(potentials, lengths, multiroot=False)


def parts(heads: torch.Tensor) -> torch.Tensor:
    """Return trees in the form of torch-struct; `heads [batch, words]`, 0 for the root."""
    return _by_head(nn.functional.one_hot(heads, heads.shape[1] + 1))


def _by_head(arcs: torch.Tensor) -> torch.Tensor:
    """Return a row for each head, with the root on the diagonal."""
    own = torch.eye(arcs.shape[1], dtype=torch.bool)
    return torch.where(own, arcs[:, None, :, 0], arcs[:, :, 1:].transpose(1, 2))


def best_heads(trees: torch_struct.DependencyCRF) -> torch.Tensor:
    """Return the best tree as `heads [batch, words]`; values beyond the length have no meaning."""
    found = trees.argmax.transpose(1, 2)  # [batch, dependent, head]
    heads = found.argmax(-1)
    return torch.where(heads == torch.arange(heads.shape[1]), 0, heads + 1)


class TorchWords(nn.Module):
    """A bidirectional LSTM over words and a convolution over their letters, with the sizes in `reading.SIZES`."""

    def __init__(self, words: int, letters: int, sizes: dict[str, int], depth: int) -> None:
        super().__init__()
        self.word = nn.Embedding(words, sizes["embedding"], padding_idx=0)
        self.letter = nn.Embedding(letters, sizes["letter_embedding_dim"], padding_idx=0)
        # A single product is faster here, and PyTorch's own convolution crashes if TensorFlow was loaded before it.
        self.convolution = nn.Linear(3 * sizes["letter_embedding_dim"], sizes["filters"])
        self.width = 2 * sizes["units"]
        self.network = nn.LSTM(
            sizes["embedding"] + sizes["filters"], sizes["units"], depth, batch_first=True, bidirectional=True
        )

    def read(self, ids: torch.Tensor, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a value for each word, and the mask."""
        mask = ids != 0
        padded = nn.functional.pad(self.letter(letters.flatten(0, 1)), (0, 0, 1, 1))
        spelled = self.convolution(padded.unfold(1, 3, 1).flatten(2)).relu().amax(1)
        both = torch.cat([self.word(ids), spelled.unflatten(0, ids.shape)], -1)
        packed = nn.utils.rnn.pack_padded_sequence(both, mask.sum(1), batch_first=True, enforce_sorted=False)
        values, _ = nn.utils.rnn.pad_packed_sequence(self.network(packed)[0], batch_first=True)
        return values, mask


class TorchTagger(TorchWords):
    """A tagger with a conditional random field."""

    def __init__(self, words: int, letters: int, sizes: dict[str, int], tags: int) -> None:
        super().__init__(words, letters, sizes, 1)
        self.scores, self.crf = nn.Linear(self.width, tags), CRF(tags, batch_first=True)

    def loss(self, ids: torch.Tensor, letters: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        """Return `-log p(tags)` per word."""
        values, mask = self.read(ids, letters)
        return -self.crf(self.scores(values), tags, mask, reduction="token_mean")

    def best(self, ids: torch.Tensor, letters: torch.Tensor, tags: torch.Tensor) -> list[list[int]]:
        """Return the best tags."""
        values, mask = self.read(ids, letters)
        return self.crf.decode(self.scores(values), mask)


class TorchParser(TorchWords):
    """A parser with biaffine scores (Dozat and Manning, 2017)."""

    def __init__(self, words: int, letters: int, sizes: dict[str, int], relations: int) -> None:
        super().__init__(words, letters, sizes, 2)
        arc, relation = sizes["arc_units"], sizes["relation_units"]
        self.root = nn.Parameter(torch.zeros(1, 1, self.width))
        self.views = nn.ModuleList(nn.Linear(self.width, size) for size in (arc, arc, relation, relation))
        self.arc, self.bias = nn.Linear(arc, arc, bias=False), nn.Linear(arc, 1, bias=False)
        self.relation = nn.Linear(relation + 1, relations * (relation + 1), bias=False)

    def potentials(self, ids: torch.Tensor, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the arcs `[batch, words, root and words]`, the relations `[..., relations]` and the lengths."""
        values, mask = self.read(ids, letters)
        heads = torch.cat([self.root.expand(len(values), -1, -1), values], 1)
        head, dependent, governor, governed = (
            nn.functional.leaky_relu(view(of))
            for view, of in zip(self.views, (heads, values, heads, values), strict=True)
        )
        arcs = self.arc(dependent) @ head.transpose(1, 2) + self.bias(head).transpose(1, 2)
        governor, governed = (nn.functional.pad(view, (0, 1), value=1) for view in (governor, governed))
        asked = self.relation(governed).unflatten(-1, (-1, governed.shape[-1]))
        relations = torch.einsum("bdru,bhu->bdhr", asked, governor)
        return arcs, relations.log_softmax(-1), mask.sum(1)

    def loss(self, ids: torch.Tensor, letters: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return `-log p(tree and relations)` per word; `right [batch, words, heads and relations]`."""
        arcs, relations, lengths = self.potentials(ids, letters)
        heads, of_arcs = right.unbind(-1)
        there = ids != 0
        trees = one_root(arcs, lengths).log_prob(parts(heads) * there[:, None])
        chosen = _at(_at(relations, heads), of_arcs)
        return -(trees.sum() + (chosen * there).sum()) / there.sum()

    def best(self, ids: torch.Tensor, letters: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return heads and relations of the best tree, where the best relation of each arc adds to its score."""
        arcs, relations, lengths = self.potentials(ids, letters)
        gains, names = relations.max(-1)
        heads = best_heads(one_root(arcs + gains, lengths))
        return heads, _at(names, heads)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return `values[b, w, places[b, w]]`."""
    batch, words = (torch.arange(size) for size in places.shape)
    return values[batch[:, None], words, places]


def training_step(model: TorchTagger | TorchParser, arrays: list) -> Callable[[], None]:
    """Return a step of Adam with clipping, on a batch of arrays."""
    tensors = [torch.tensor(array, dtype=torch.long) for array in arrays]
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        model.loss(*tensors).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def answers(model: TorchTagger | TorchParser, arrays: list) -> Callable[[], object]:
    """Return a function that computes the best output for each row of a batch of arrays."""
    tensors = [torch.tensor(array, dtype=torch.long) for array in arrays]

    def answer() -> object:
        with torch.no_grad():
            return model.best(*tensors)

    return answer
