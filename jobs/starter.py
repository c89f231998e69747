"""The commented job file that `gonogo init` writes. It loads without a fault as it is."""

from __future__ import annotations

PLATFORMS = ("interactive", "local-docker", "remote-docker", "brev", "lepton", "slurm", "skypilot")

_HEAD = """\
# A gonogo job file: what shall run. Check it with `gonogo check {file}`, start it with `gonogo launch {file}`.
# ${{VAR}} is filled in from your environment; $${{ is a literal ${{.

name: {name}
{image}command: {command}
gpus: 0                          # per node: 0 none, -1 all visible
# env: {{NCCL_DEBUG: INFO}}
# credentials: [HF_TOKEN]        # must be set where you launch; handed to the job, never shown

# inputs:                        # proven on the target before anything starts
#   - {{name: train, uri: /data/train, mount: /data/train}}
#   - {{name: images, uri: "s3://bucket/images/", mount: /data/images}}
# outputs:
#   - {{name: results, uri: /data/results, mount: /results}}

# requires:
#   gpu_memory: 40 GiB           # of each GPU
#   disk: 200 GiB                # free on each output
#   driver: ">=580"
#   cuda: ">=13.0"
# time_limit: 10:30:00           # hours, minutes, seconds
"""

_GREETING = 'echo "hello from $(uname -n)"'

_SECTIONS = {
    "interactive": "",
    "local-docker": """
docker:
  network: tao_default           # made at launch where it is missing
#   gpu_ids: [0]                 # on a shared machine name the GPUs
""",
    "remote-docker": """
docker:
  host: ssh://gpu-host           # as your ssh configuration knows it; --docker-host and DOCKER_HOST beat it
  network: tao_default
#   gpu_ids: [0]
""",
    "brev": """
brev: {}
#   instance: my-instance        # run: gonogo inspect --platform brev
""",
    "lepton": """
lepton: {}
#   resource_shape: gpu.8xh100-sxm     # run: gonogo inspect --platform lepton
#   dedicated_node_group: my-h100-pool
""",
    "slurm": """
slurm:
  nodes: 1
  ntasks_per_node: 1             # processes on each node
  time: 00:30:00
#   account: …                   # run: gonogo inspect --platform slurm
#   partition: …
#   container_image: …
""",
    "skypilot": """
skypilot:
  num_nodes: 1
  use_spot: false
#   cloud: kubernetes            # run: gonogo inspect --platform skypilot
#   accelerators: "H100:8"
""",
}


def starter(platform: str = "interactive", file: str = "job.yaml") -> str:
    """The starter for that platform. Raises ValueError for an unknown one."""
    if platform not in _SECTIONS:
        raise ValueError(f"unknown platform '{platform[:40]}'; one of {', '.join(PLATFORMS)}")
    image = (
        ""
        if platform in ("interactive", "slurm", "skypilot")
        else "image: busybox:1.36            # what the command runs in\n"
    )
    head = _HEAD.format(file=file, name="first-job", image=image, command=_GREETING)
    return head + _SECTIONS[platform]
