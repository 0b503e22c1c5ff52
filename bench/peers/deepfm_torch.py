"""DeepFM training steps in PyTorch on CPU: the rival of `cargo bench` and of a one-process Gearshift job.

The work of one step: rows of 26 tables pulled for a batch, forward, backward, Adagrad on the touched rows only,
Adam on the dense parameters. 26 tables of 100,000 rows (dim 16 plus a first-order weight), Zipf 1.05 IDs, 13 dense
features, hidden 400-400-400. IDs, unique IDs and positions are made before the clock starts, as Gearshift's
data::reader does this in its own thread. Prints one JSON line per window; windows of all batch sizes take turns.
`samples_per_cpu_s` divides by the CPU time of all threads instead of the wall time: on a busy machine it still
compares settings.

Variants (--variant), all with the same arithmetic:
  rows       one [26 * 100,000, 17] table; unique rows gathered outside autograd as a leaf, updated by index
  positions  as rows, but the leaf is [batch, 26, 17], one vector per value; its gradient summed by index_add
  bag        torch.nn.EmbeddingBag(sparse=True) with torch.optim.Adagrad
"""

import argparse
import json
import time

import torch
import torch.nn.functional as F

FIELDS, IDS, DENSE, DIM, HIDDEN, ZIPF = 26, 100_000, 13, 16, [400, 400, 400], 1.05
ROW_RATE, ROW_EPSILON, DENSE_RATE = 0.05, 1e-8, 1e-3


class Batches:
    """Batches made before the clock starts, and cycled through."""

    def __init__(self, samples, count, generator):
        weights = torch.arange(1, IDS + 1, dtype=torch.float64).pow(-ZIPF).cumsum(0)
        self.batches = []
        for _ in range(count):
            draws = torch.rand(samples, FIELDS, dtype=torch.float64, generator=generator) * weights[-1]
            ids = torch.searchsorted(weights, draws).clamp_(max=IDS - 1)
            flat = (ids + torch.arange(FIELDS) * IDS).flatten()
            unique, positions = flat.unique(return_inverse=True)
            labels = (torch.rand(samples, generator=generator) < 0.25).float()
            dense = torch.randn(samples, DENSE, generator=generator)
            self.batches.append((ids, flat, unique, positions, dense, labels))

    def __getitem__(self, i):
        return self.batches[i % len(self.batches)]


class Dense(torch.nn.Module):
    """Everything after the lookup: fields `[samples, 26, 17]` and dense inputs to the mean loss."""

    def __init__(self):
        super().__init__()
        widths = [FIELDS * DIM + DENSE, *HIDDEN, 1]
        self.layers = torch.nn.ModuleList(torch.nn.Linear(i, o) for i, o in zip(widths, widths[1:]))
        self.linear = torch.nn.Parameter(torch.zeros(DENSE))

    def forward(self, fields, dense, labels):
        vectors, first_order = fields[..., :DIM], fields[..., DIM]
        x = torch.cat([vectors.flatten(1), dense], dim=1)
        second = 0.5 * (vectors.sum(1).square() - vectors.square().sum(1)).sum(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        logits = self.layers[-1](x).squeeze(1) + first_order.sum(1) + dense @ self.linear + second
        return F.binary_cross_entropy_with_logits(logits, labels)


class Rows(torch.nn.Module):
    """As Dense, from unique rows and each value's position in them."""

    def __init__(self):
        super().__init__()
        self.dense = Dense()

    def forward(self, rows, positions, dense, labels):
        fields = F.embedding(positions, rows).view(len(labels), FIELDS, DIM + 1)
        return self.dense(fields, dense, labels)


class Step:
    """Parameters and one training step of each variant."""

    def __init__(self, args):
        self.table = torch.randn(FIELDS * IDS, DIM + 1) * 0.01
        self.table[:, DIM] = 0.0
        self.squares = torch.full_like(self.table, 1e-8)
        model = Rows() if args.variant == "rows" else Dense()
        parameters = list(model.parameters())
        settings = {"foreach": {"foreach": True}, "fused": {"fused": True}, "single": {"foreach": False}}
        self.adam = torch.optim.Adam(parameters, lr=DENSE_RATE, **settings[args.adam])
        self.loss, self.adagrad_rows = model, adagrad_rows
        if args.compile != "off":
            mode = "max-autotune-no-cudagraphs" if args.compile == "max-autotune" else "default"
            self.loss = torch.compile(model, mode=mode)
            self.adagrad_rows = torch.compile(adagrad_rows, dynamic=True)
        if args.variant == "bag":
            self.bags = torch.nn.ModuleList(
                torch.nn.EmbeddingBag(IDS, DIM + 1, mode="sum", sparse=True) for _ in range(FIELDS)
            )
            self.adagrad = torch.optim.Adagrad(
                self.bags.parameters(), lr=ROW_RATE, initial_accumulator_value=1e-8, eps=ROW_EPSILON
            )
        self.run = getattr(self, args.variant)

    def rows(self, ids, flat, unique, positions, dense, labels):
        rows = self.table.index_select(0, unique).requires_grad_()
        torch._dynamo.mark_dynamic(rows, 0)
        self.loss(rows, positions, dense, labels).backward()
        self.update_rows(unique, rows.detach(), rows.grad)

    def positions(self, ids, flat, unique, positions, dense, labels):
        fields = self.table.index_select(0, flat).view(len(labels), FIELDS, DIM + 1).requires_grad_()
        self.loss(fields, dense, labels).backward()
        sums = torch.zeros(len(unique), DIM + 1)
        sums.index_add_(0, positions, fields.grad.view(-1, DIM + 1))
        self.update_rows(unique, self.table.index_select(0, unique), sums)

    def bag(self, ids, flat, unique, positions, dense, labels):
        fields = torch.stack([bag(ids[:, i : i + 1]) for i, bag in enumerate(self.bags)], dim=1)
        self.loss(fields, dense, labels).backward()
        self.adagrad.step()
        self.adagrad.zero_grad()
        self.step_dense()

    @torch.no_grad()
    def update_rows(self, unique, rows, gradient):
        rows, squares = self.adagrad_rows(rows, self.squares.index_select(0, unique), gradient)
        self.squares.index_copy_(0, unique, squares)
        self.table.index_copy_(0, unique, rows)
        self.step_dense()

    def step_dense(self):
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)


def adagrad_rows(rows, squares, gradient):
    squares = squares + gradient * gradient
    return rows - ROW_RATE * gradient / (squares.sqrt() + ROW_EPSILON), squares


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--windows", type=int, default=3, help="windows per batch size")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a window")
    parser.add_argument("--batches", type=int, nargs="+", default=[1024, 4096], help="batch sizes")
    parser.add_argument("--variant", choices=["rows", "positions", "bag"], default="rows")
    parser.add_argument("--adam", choices=["foreach", "fused", "single"], default="fused")
    parser.add_argument("--compile", choices=["off", "inductor", "max-autotune"], default="max-autotune")
    parser.add_argument("--cpp-wrapper", action="store_true", help="let inductor call its kernels from C++")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_float32_matmul_precision("highest")
    torch.set_flush_denormal(True)
    if args.cpp_wrapper:
        torch._inductor.config.cpp_wrapper = True
    # A kernel per batch size, each with static shapes; only the number of unique rows is marked as dynamic.
    torch._dynamo.config.automatic_dynamic_shapes = False
    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(1)

    lanes = []
    for samples in args.batches:
        step, batches = Step(args), Batches(samples, 16, generator)
        for i in range(5):
            step.run(*batches[i])
        lanes.append((samples, step, batches))
    for window in range(args.windows):
        for samples, step, batches in lanes:
            start, start_cpu, steps = time.perf_counter(), time.process_time(), 0
            while time.perf_counter() - start < args.seconds:
                step.run(*batches[steps])
                steps += 1
            rate = steps * samples / (time.perf_counter() - start)
            rate_cpu = steps * samples / (time.process_time() - start_cpu)
            line = {"peer": "torch", "torch": torch.__version__, "variant": args.variant, "adam": args.adam}
            line |= {"steps": steps, "samples_per_s": round(rate), "samples_per_cpu_s": round(rate_cpu)}
            line |= {"compile": args.compile, "cpp_wrapper": args.cpp_wrapper}
            line |= {"threads": args.threads, "batch": samples, "window": window}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
