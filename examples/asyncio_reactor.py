"""The Twisted client inside an asyncio program, with Twisted's asyncio reactor installed: one loop for both.

    python examples/asyncio_reactor.py udp:127.0.0.1:9000

For programs that already run Twisted on asyncio; others use `cbsmrp.aio` (see game_client.py). It subscribes by content
as well as by place, publishes one update that matches and one that does not, and prints what arrives.
"""

from __future__ import annotations

import asyncio
import sys

from twisted.internet import asyncioreactor


async def talk(router: str) -> None:
    from twisted.internet import reactor  # only after the installation below
    from twisted.internet.defer import ensureDeferred

    from cbsmrp.udp import connect
    from interest import Box

    loop = asyncio.get_running_loop()
    listener = await ensureDeferred(connect(reactor, router)).asFuture(loop)
    speaker = await ensureDeferred(connect(reactor, router)).asFuture(loop)
    harbour = Box((0, 0), (500, 500))  # any height
    ships = await listener.subscribe(harbour, layer="ships", where="speed > 3 OR flag IN ('NO', 'DK')").asFuture(loop)
    speaker.publish((120, 80), layer="ships", attributes={"speed": 1.5, "flag": "SE"}, payload=b"not wanted")
    speaker.publish((120, 80), layer="ships", attributes={"speed": 1.5, "flag": "NO"}, payload=b"wanted")
    publication = await ships.next().asFuture(loop)
    print(publication.payload.decode(), publication.attributes, flush=True)
    for client in (listener, speaker):
        await client.close().asFuture(loop)


if __name__ == "__main__":
    loop = asyncio.new_event_loop()
    asyncioreactor.install(loop)
    loop.run_until_complete(talk(sys.argv[1] if len(sys.argv) > 1 else "udp:127.0.0.1:9000"))
