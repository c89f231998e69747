"""Runs in the job's interpreter: what does torch.cuda say? Lines `@t<TAB>name<TAB>value`."""

import importlib
import sys
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


if __name__ == "__main__":
    main()
