"""A daemon of another user names its successor and ends, before the keeper looked.

Says whether the keeper heard it when it reaped the daemon.
"""

import os
import socket
import sys
from pathlib import Path

from windlass.inpod.keeper import Files, Keeper, Service

NOBODY = 65534

service = Service(["daemon"], Path(sys.argv[1]))
service.pid = os.fork()
if service.pid == 0:
    os.setuid(NOBODY)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as talking:
        talking.sendto(f"MAINPID={os.getppid()}".encode(), sys.argv[1])
    os._exit(0)
os.waitid(os.P_PID, service.pid, os.WEXITED | os.WNOWAIT)
Keeper([service], Files(()), restart=False).reap()
print("heard" if service.pid == os.getpid() else "not heard")
