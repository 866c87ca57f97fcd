"""Starts the containers in which several daemons run, under the keeper.

    python3 start.py slurmd [WORD...]     slurmd with these words; sshd and SSSD where asked for;
                                          it reads the keys in /etc/slurm again when they change
    python3 start.py login                sackd, sshd and SSSD where it is configured

slurmd offers what its pod may use, not what the machine has, unless `--conf` says so itself:

- POD_CPUS, if fewer than the machine's, becomes `CPUs=`;
- POD_MEMORY (MiB), less a sixteenth (32 to 256 MiB) for the daemons beside the jobs, becomes
  `RealMemory=`, if that is less than the machine's;
- SLINKY_TOPOLOGY or POD_TOPOLOGY becomes `Topology=`.

0 and nothing mean: not set. Options of the daemons are in SLURMD_OPTIONS, SACKD_OPTIONS,
SSHD_OPTIONS and SSSD_OPTIONS, with a shell's quotes. SSSD runs if /etc/sssd/sssd.conf is there.
What they say comes out of logs.py.
Beside slurmd, sshd runs with SSHD=yes, and lets in whoever has a job here:
PAM_SLURM_ADOPT_OPTIONS are those of pam_slurm_adopt.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEEPER = Path(__file__).with_name("keeper.py")
LOGS = Path(__file__).with_name("logs.py")
KEYS = ("/etc/slurm/slurm.key", "/etc/slurm/slurm.jwks")
SSSD_CONF = Path("/etc/sssd/sssd.conf")
PAM_SSHD = Path("/etc/pam.d/sshd")
ADOPT = "action_adopt_failure=deny action_generic_failure=deny"
ACCOUNT = re.compile(r"^(@include common-account|account\s+include\s)", re.MULTILINE)


def limits(env: Mapping[str, str], machine: Mapping[str, int]) -> dict[str, str]:
    """What `--conf` is to say of the node, by Slurm's names for it."""
    found = {}
    cpus, memory = number(env.get("POD_CPUS")), number(env.get("POD_MEMORY"))
    if 0 < cpus < machine.get("CPUs", cpus + 1):
        found["CPUs"] = str(cpus)
    if 0 < memory < machine.get("RealMemory", memory + 1):
        found["RealMemory"] = str(for_jobs(memory))
    topology = env.get("SLINKY_TOPOLOGY") or env.get("POD_TOPOLOGY")
    if topology:
        found["Topology"] = topology
    return found


def for_jobs(memory: int) -> int:
    """Of a pod's memory in MiB, what is left beside the daemons."""
    return memory - min(max(memory // 16, 32), 256)


def number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def with_conf(words: Sequence[str], own: Mapping[str, str]) -> list[str]:
    """Add to slurmd's `--conf`, and leave alone what it says already."""
    result, given = [], ""
    rest = iter(words)
    for word in rest:
        if word == "--conf":
            given = next(rest, "")
        elif word.startswith("--conf="):
            given = word.partition("=")[2]
        else:
            result.append(word)
    said = {part.partition("=")[0].lower() for part in shlex.split(given)}
    more = [f"{key}={value}" for key, value in own.items() if key.lower() not in said]
    conf = " ".join([*([given] if given else []), *more])
    return [*result, "--conf", conf] if conf else result


def measure(said: str) -> dict[str, int]:
    """What `slurmd -C` says of the machine."""
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)\b", said.partition("\n")[0])}


def adopting(pam: str, options: str) -> str:
    """PAM's rules for sshd, with pam_slurm_adopt before the others that judge an account."""
    line = f"account required pam_slurm_adopt.so {options}\n"
    return pam if "pam_slurm_adopt" in pam else ACCOUNT.sub(line + r"\g<1>", pam, count=1)


def options(env: Mapping[str, str], daemon: str) -> list[str]:
    return shlex.split(env.get(f"{daemon}_OPTIONS", ""))


def beside(env: Mapping[str, str], *, sshd: bool, sssd: bool) -> list[str]:
    """What runs beside the daemon, as the keeper wants it."""
    # sshd insists on being called by its whole path.
    ssh = ["--also", "/usr/sbin/sshd", "-D", "-e", *options(env, "SSHD")] if sshd else []
    sss = ["--also", "sssd", "-i", *options(env, "SSSD")] if sssd else []
    return [*ssh, *sss]


def prepare_sshd() -> None:
    Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
    if not any(Path("/etc/ssh").glob("ssh_host_*_key")):
        subprocess.run(["ssh-keygen", "-A"], check=True, stdout=subprocess.DEVNULL)


def kept(daemon: str, *words: str) -> list[str]:
    """These words are the keeper's, of which the first command is this daemon of Slurm."""
    keeper = [sys.executable, str(KEEPER), "--restart", *words]
    return [sys.executable, str(LOGS), "--node", daemon, "--", *keeper]


def slurmd(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    sshd = env.get("SSHD", "").lower() in ("yes", "true", "1")
    if sshd:
        prepare_sshd()
        rules = env.get("PAM_SLURM_ADOPT_OPTIONS", ADOPT)
        PAM_SSHD.write_text(adopting(PAM_SSHD.read_text(), rules))
    said = subprocess.run(["slurmd", "-C"], capture_output=True, text=True, check=False).stdout
    words = with_conf([*options(env, "SLURMD"), *words], limits(env, measure(said)))
    also = beside(env, sshd=sshd, sssd=SSSD_CONF.exists())
    follow = [word for key in KEYS for word in ("--follow", key)]
    return kept("slurmd", *follow, "--", "slurmd", "--systemd", *words, *also)


def login(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    prepare_sshd()
    run = Path("/run/slurm")
    run.mkdir(mode=0o755, parents=True, exist_ok=True)
    shutil.chown(run, "slurm", "slurm")
    as_slurm = ["setpriv", "--reuid=slurm", "--regid=slurm", "--clear-groups", "--"]
    # By its whole path: it starts itself again by the name that it was called by.
    program = shutil.which("sackd") or "/usr/sbin/sackd"
    sackd = [*as_slurm, program, "--systemd", *options(env, "SACKD"), *words]
    return kept("sackd", "--", *sackd, *beside(env, sshd=True, sssd=SSSD_CONF.exists()))


def main(words: Sequence[str]) -> None:
    starts = {"slurmd": slurmd, "login": login}
    if not words or words[0] not in starts:
        raise SystemExit(__doc__)
    command = starts[words[0]](words[1:], os.environ)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
