"""One pass over one gang: read everything once, decide, carry it out."""

from typing import Final

from windlass.bridge.deciding import SOON, decide
from windlass.bridge.executor import Executor, NotYet
from windlass.bridge.gang import GangKey
from windlass.bridge.observe import Observer
from windlass.bridge.sent import REFUSED
from windlass.kube.controller import Requeue
from windlass.slurm.errors import Busy, Refused, Unavailable

SILENT: Final = 2.0


class Reconciler:
    def __init__(self, observer: Observer, executor: Executor) -> None:
        self._observer = observer
        self._executor = executor

    async def reconcile(self, key: GangKey) -> Requeue:
        plan = decide(await self._observer.observe(key))
        try:
            await self._executor.carry_out(plan)
        except Refused:
            return Requeue.in_seconds(REFUSED)
        except (Unavailable, Busy):
            return Requeue.in_seconds(SILENT)
        except NotYet:
            return Requeue.in_seconds(SOON)
        return Requeue(plan.again)
