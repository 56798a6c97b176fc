"""The publishers' process: several clients of the overlay, and a source for every object of the plan.

Started by `overlay` through `child`. It logs each publication that was handed to a router, with the time just before;
what was not handed over (no router at the moment) is logged as such, since nobody can expect it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from cbsmrp.cli.output import json_line
from cbsmrp.cli.running import run_reactor, sleep
from cbsmrp.config import Timers
from cbsmrp.udp.client import Publisher

from . import plan
from .child import Commands
from .crowd import Log, joined

#: A second from the last publication, the routers know how many datagrams they should have had.
TIMERS = Timers(host_hello=1.0)
PROGRESS = 0.5


def run(job: Any, commands: Commands) -> int:
    updates = plan.read_updates(Path(job["plan"]))

    async def main(reactor: Any) -> int:
        orders = commands.deferred(reactor)
        async with joined(reactor, job["clients"], TIMERS) as clients:
            publishers: dict[str, Publisher] = {}
            for update in updates:
                if update.name not in publishers:
                    publishers[update.name] = clients[update.client].publisher()
            json_line({"ready": True})
            start = (await orders.get())["start"]
            with Log(Path(job["log"])) as log:
                tell_at = start
                for number, update in enumerate(updates):
                    if (wait := start + update.time - time.monotonic()) > 0:
                        await sleep(reactor, wait)  # in it, what was published before goes out
                    now = time.monotonic()
                    sent = publishers[update.name].publish(update.extent, layer=update.layer)
                    if sent is None:
                        log.write(unsent=number)
                    else:
                        log.write(update=number, sent=now, source=f"{sent.source:016x}", sequence=sent.sequence)
                    if now >= tell_at:
                        tell_at = now + PROGRESS
                        json_line({"published": number + 1})
                json_line({"published": len(updates)})
                await orders.get()  # stay joined until the routers have counted
                log.links(clients)
            json_line({"done": True})
            await orders.get()
        return 0

    return run_reactor(main, interrupted=0)
