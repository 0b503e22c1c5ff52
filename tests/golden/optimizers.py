"""Golden values of crates/embedding: torch.optim on gradients that both sides compute exactly.

Run: python tests/golden/optimizers.py; paste into crates/embedding/src/optimizer_tests.rs.
"""

import torch

DIM, STEPS = 11, 6


def shortest(value):
    """The shortest decimal that names this f32."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if torch.tensor(float(text), dtype=torch.float32).item() == value:
            return text
    raise ValueError(value)


def gradient(step):
    """Multiples of 1/64, so that f32 holds them exactly; one value stays 0."""
    return torch.tensor([((step * 7 + i * 5) % 13 - 6) * (i > 0) / 64 for i in range(DIM)], dtype=torch.float32)


def run(name, make):
    values = torch.nn.Parameter(torch.tensor([(i - 5) / 8 for i in range(DIM)], dtype=torch.float32))
    optimizer = make([values])
    for step in range(STEPS):
        values.grad = gradient(step)
        optimizer.step()
    numbers = ", ".join(shortest(value) for value in values.tolist())
    print(f"const {name}: [f32; {DIM}] = [{numbers}];")


print(f"// torch {torch.__version__}")
run("ADAM", lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.999), eps=1e-8, foreach=False))
run("ADAM_DECAY", lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1, foreach=False))
run("ADAGRAD", lambda p: torch.optim.Adagrad(p, lr=0.05, initial_accumulator_value=1e-8, eps=1e-8, foreach=False))
run("ADAGRAD_DECAY", lambda p: torch.optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1, eps=1e-10, weight_decay=0.05, foreach=False))
run("SGD_DECAY", lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05, foreach=False))
