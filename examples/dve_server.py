"""A DVE server: it follows one avatar, and hears what happens within 50 m of it. Nothing else reaches its socket.

    python examples/dve_server.py udp:127.0.0.1:9000 [SECONDS]

Twisted. The region moves with what is heard: every update of the avatar that it follows moves the sphere.
"""

from __future__ import annotations

import sys

from twisted.internet import defer, task
from twisted.internet.interfaces import IReactorTime

from cbsmrp.messages import Publication
from cbsmrp.udp import connect
from interest import Point, Sphere

FOLLOWED = "anna"


async def serve(reactor: IReactorTime, router: str, seconds: float) -> None:
    client = await connect(reactor, router)
    client.on_event = lambda event: print(f"-- {event.kind} {event.detail}", flush=True)

    def heard(publication: Publication) -> None:
        name = publication.attributes.get("name")
        print(f"{name} at {publication.extent.position}: {publication.payload.decode()}", flush=True)
        if name == FOLLOWED and isinstance(publication.extent, Point):
            around.move(Sphere(publication.extent.position, 50))  # takes effect at once, awaited or not

    # In force when this returns: every matching publication sent anywhere from now on arrives.
    around = await client.subscribe(Sphere((100, 100, 0), 50), layer="avatars", on_publication=heard)
    await task.deferLater(reactor, seconds, lambda: None)
    await client.close()


if __name__ == "__main__":
    router = sys.argv[1] if len(sys.argv) > 1 else "udp:127.0.0.1:9000"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    task.react(lambda reactor: defer.ensureDeferred(serve(reactor, router, seconds)))
