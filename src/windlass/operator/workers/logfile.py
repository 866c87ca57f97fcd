"""The sidecar that shows slurmd's log: slurmd writes to a FIFO, this reads it."""

from typing import Any, Final

from windlass.api.node_set import NodeSet
from windlass.operator.pods.merge import merge_container
from windlass.operator.workers import words

# Our program makes JSON of the log; an image without Python shows it as it is. A FIFO that is there
# is kept, or slurmd would go on writing into one that nobody reads.
SHOW: Final = f"""program={words.PROGRAMS_DIR}/logs.py
if [ -f "$program" ] && command -v python3 >/dev/null 2>&1; then
  exec python3 "$program"
fi
trap 'exit 0' TERM INT
mkdir -p "${{SOCKET%/*}}"
[ -p "$SOCKET" ] || {{ rm -f "$SOCKET" && mkfifo -m 600 "$SOCKET"; }}
while true; do
  cat <>"$SOCKET" &
  wait $!
  sleep 1
done
"""


def logfile(node_set: NodeSet, image: str) -> dict[str, Any]:
    base = {
        "name": "logfile",
        "image": (node_set.spec.slurmd or {}).get("image") or image,
        "command": ["sh", "-c", SHOW],
        "env": [{"name": "SOCKET", "value": words.LOG_FILE}],
        "restartPolicy": "Always",
        "volumeMounts": [
            {"name": "slurm-logfile", "mountPath": words.LOG_DIR},
            {"name": "programs", "mountPath": words.PROGRAMS_DIR, "readOnly": True},
        ],
    }
    return merge_container(base, node_set.spec.logfile)
