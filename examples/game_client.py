"""A game client: it publishes where its avatar is, ten times a second, and is told about nothing.

    python examples/game_client.py udp:127.0.0.1:9000 NAME [SECONDS]

asyncio, through the thin adapter `cbsmrp.aio`. With `source_clipping` it stays silent while nobody wants its updates.
"""

from __future__ import annotations

import asyncio
import math
import sys

from cbsmrp import aio


async def play(router: str, name: str, seconds: float) -> None:
    async with await aio.connect(router, source_clipping=True) as client:
        for step in range(int(seconds * 10)):
            angle = step / 50
            place = (100 + 40 * math.cos(angle), 100 + 40 * math.sin(angle), 0.0)
            client.publish(place, layer="avatars", attributes={"name": name, "team": 2}, payload=b"walking")
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    router = sys.argv[1] if len(sys.argv) > 1 else "udp:127.0.0.1:9000"
    name = sys.argv[2] if len(sys.argv) > 2 else "anna"
    asyncio.run(play(router, name, float(sys.argv[3]) if len(sys.argv) > 3 else 60.0))
