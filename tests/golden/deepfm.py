"""Losses of DeepFM in plain PyTorch, for crates/model/tests/golden.rs to follow.

    python tests/golden/deepfm.py > tests/golden/deepfm.json

Needs `pip install torch`. Start values and batches come from one integer formula that both sides compute, so the
file holds results only: the mean loss before each of 20 updates, the last predictions and parameter sums.
"""

import json

import torch
import torch.nn.functional as F

TABLES, KEYS, DIM = 3, 20, 6
# (table, pooling); "one" has exactly one value per sample, the others 0 to 3.
FEATURES = [(0, "one"), (1, "one"), (0, "sum"), (2, "mean")]
HIDDEN, DENSE, SAMPLES, STEPS = [16, 8], 3, 32, 20


def hashed(stream, i):
    """Final mix of MurmurHash3 over i + stream * 0x9E3779B9, modulo 2**32."""
    x = (i + stream * 0x9E3779B9) & 0xFFFFFFFF
    x ^= x >> 16
    x = x * 0x85EBCA6B & 0xFFFFFFFF
    x ^= x >> 13
    x = x * 0xC2B2AE35 & 0xFFFFFFFF
    return x ^ x >> 16


def number(stream, i):
    """-1 to 1 in steps of 2**-23: exact in float32."""
    return (hashed(stream, i) >> 8) / 2**23 - 1.0


def batch(step):
    """Labels, dense inputs and, per feature, positions with offsets."""
    samples = range(step * SAMPLES, (step + 1) * SAMPLES)
    dense = [[number(2, s * DENSE + c) for c in range(DENSE)] for s in samples]
    labels = [float(number(3, s) + dense[i][0] > 0.3) for i, s in enumerate(samples)]
    features = []
    for f, (_, pooling) in enumerate(FEATURES):
        positions, offsets = [], []
        for s in samples:
            offsets.append(len(positions))
            length = 1 if pooling == "one" else hashed(5, s * 10 + f) % 4
            positions += [hashed(4, (s * 10 + f) * 10 + i) % KEYS for i in range(length)]
        features.append((torch.tensor(positions, dtype=torch.int64), torch.tensor(offsets)))
    return torch.tensor(labels), torch.tensor(dense), features


def parameters():
    """Tables `[KEYS, DIM + 1]` (first-order weight last), then the dense tensors in the order of the flat vector."""
    tables = [
        [[0.4 * number(0, (t * KEYS + k) * (DIM + 1) + j) for j in range(DIM + 1)] for k in range(KEYS)]
        for t in range(TABLES)
    ]
    widths = [len(FEATURES) * DIM + DENSE, *HIDDEN, 1]
    shapes = [shape for i, o in zip(widths, widths[1:]) for shape in ((i, o), (o,))] + [(DENSE,)]
    dense, at = [], 0
    for shape in shapes:
        size = torch.Size(shape).numel()
        values = [0.4 * number(1, at + i) for i in range(size)]
        dense.append(torch.tensor(values).reshape(shape).requires_grad_())
        at += size
    return [torch.tensor(table).requires_grad_() for table in tables], dense


def logits(tables, dense, inputs, features):
    pooled = []
    for (table, pooling), (positions, offsets) in zip(FEATURES, features):
        mode = "mean" if pooling == "mean" else "sum"
        pooled.append(F.embedding_bag(positions, tables[table], offsets, mode=mode))
    fields = torch.stack(pooled, dim=1)
    vectors, first_order = fields[:, :, :DIM], fields[:, :, DIM]
    second_order = 0.5 * (vectors.sum(1).square() - vectors.square().sum(1)).sum(1)
    x = torch.cat([vectors.flatten(1), inputs], dim=1)
    *layers, linear = dense
    for i in range(0, len(layers), 2):
        x = x @ layers[i] + layers[i + 1]
        x = x.relu() if i + 2 < len(layers) else x
    return x.squeeze(1) + first_order.sum(1) + inputs @ linear + second_order


def run(optimizer_of):
    tables, dense = parameters()
    optimizer = optimizer_of(tables + dense)
    losses = []
    for step in range(STEPS):
        labels, inputs, features = batch(step)
        z = logits(tables, dense, inputs, features)
        loss = F.binary_cross_entropy_with_logits(z, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "losses": losses,
        "last_predictions": z.sigmoid().tolist(),
        "final_row_sums": [table.double().sum().item() for table in tables],
        "final_dense_sum": sum(tensor.double().sum().item() for tensor in dense),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    result = {
        "torch": torch.__version__,
        "sgd": run(lambda p: torch.optim.SGD(p, lr=0.2)),
        "adagrad": run(lambda p: torch.optim.Adagrad(p, lr=0.05, initial_accumulator_value=1e-8, eps=1e-8)),
    }
    print(json.dumps(result, indent=1))
