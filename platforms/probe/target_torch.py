"""Runs in the job's interpreter: what does torch.cuda say? Lines `@t<TAB>name<TAB>value`."""

import importlib
import sys
import time
from typing import Any


def line(name: str, value: object) -> None:
    sys.stdout.write("@t\t{}\t{}\n".format(name, str(value).replace("\n", " ")))


def main() -> None:
    line("interpreter", sys.executable or "")
    try:
        torch = importlib.import_module("torch")
    except BaseException as error:
        line("trouble", f"torch cannot be imported: {type(error).__name__}: {error}")
        return
    line("torch", torch.__version__)
    line("cuda", torch.version.cuda or "")
    try:
        line("architectures", " ".join(torch.cuda.get_arch_list()))
        count = torch.cuda.device_count()
        line("count", count)
        line(
            "capabilities", " ".join("{}.{}".format(*torch.cuda.get_device_capability(index)) for index in range(count))
        )
        # is_available swallows the reason, init gives it in the driver's words.
        torch.cuda.init()
        line("available", "yes" if torch.cuda.is_available() else "no")
    except BaseException as error:
        line("available", "no")
        line("trouble", f"{type(error).__name__}: {error}")
        return
    run_kernels(torch, count)
    if "all-reduce" in sys.argv:
        all_reduce(torch, count)


def run_kernels(torch: Any, count: int) -> None:
    """A sum on each device: only a kernel that came to its end proves that there is code for it."""
    ran = []
    for index in range(count):
        try:
            if int((torch.ones(8, device=f"cuda:{index}") + 1).sum().item()) == 16:
                ran.append(index)
        except BaseException as error:
            line("kernel-trouble", f"device {index}: {type(error).__name__}: {error}")
            break
    line("ran", " ".join(map(str, ran)))


def all_reduce(torch: Any, count: int) -> None:
    """A sum over all devices by NCCL, in this one process; the bandwidth is the bus bandwidth of nccl-tests."""
    floats, rounds = 16 * 1024 * 1024, 5
    try:
        nccl = importlib.import_module("torch.cuda.nccl")
        tensors = [torch.ones(floats, device=f"cuda:{index}") for index in range(count)]
        nccl.all_reduce(tensors)
        wrong = [index for index, one in enumerate(tensors) if int(one[0].item()) != count]
        if wrong:
            line("reduce-trouble", f"device {wrong[0]} has a wrong sum")
            return
        began = time.perf_counter()
        for _ in range(rounds):
            nccl.all_reduce(tensors)
        for index in range(count):
            torch.cuda.synchronize(index)
        seconds = (time.perf_counter() - began) / rounds
        line("bandwidth", f"{2 * (count - 1) / count * floats * 4 / seconds / 1e9:.2f}")
    except BaseException as error:
        line("reduce-trouble", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
