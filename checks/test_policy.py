"""POL: what the site allows."""

from __future__ import annotations

from gonogo.fixtures.outcomes import Notes
from gonogo.fixtures.requirement import requirement
from gonogo.fixtures.run import Run


@requirement("POL-01")
def test_image_and_target_are_allowed(gonogo_run: Run, evidence: Notes) -> None:
    """The image and the target's address match the policy's globs, where it has any."""
    policy, job = gonogo_run.policy, gonogo_run.job
    address = gonogo_run.platform.address
    image = job.image if job is not None else None
    evidence(found=", ".join(one for one in (image, address) if one), policy=policy.file or "no policy file")
    evidence(expected=", ".join([*policy.allow.images, *policy.allow.hosts]) or "anything")
    assert image is None or policy.allows_image(image), f"the site policy does not allow image {image}"
    assert policy.allows_host(address), f"the site policy does not allow the target {address}"
