"""What one host may ask of a router, and what it is told when it asks for more."""

import asyncio

import pytest

from cbsmrp.config import Limits
from cbsmrp.udp.subscription import Refused
from interest import Box, Region

pytestmark = pytest.mark.udp


def boxes(count):
    return Region([Box((10 * i, 0), (10 * i + 1, 1)) for i in range(count)])


def test_too_many_pieces(overlay, until):
    async def scenario(overlay):
        core = overlay.router(limits=Limits(pieces=3))
        listener = await overlay.client(core)
        kept = await listener.client.subscribe(boxes(2))
        with pytest.raises(Refused, match=r"4 pieces.*this router takes at most 3 from one host"):
            await listener.client.subscribe(Box((90, 90), (91, 91)), layer="x", where="a = 1 OR b = 2")
        with pytest.raises(Refused, match="at most 3"):
            await kept.move(boxes(5))
        # What was there before is there still.
        await until(lambda: kept.in_force, "the old region in force again")
        publisher = await overlay.client(core)
        inside, outside = await publisher.client.publish((0.5, 0.5)), await publisher.client.publish((30.5, 0.5))
        await until(lambda: (inside.source, inside.sequence) in listener.socket, "a publication in the old region")
        assert (outside.source, outside.sequence) not in listener.socket
        assert listener.kinds().count("refused") == 2

    overlay(scenario)


def test_too_many_subscriptions(overlay):
    async def scenario(overlay):
        core = overlay.router(limits=Limits(subscriptions=2))
        listener = await overlay.client(core)
        await listener.client.subscribe(Box((0, 0), (1, 1)))
        await listener.client.subscribe(Box((2, 0), (3, 1)))
        with pytest.raises(Refused, match=r"3 subscriptions.*this router takes at most 2 from one host"):
            await listener.client.subscribe(Box((4, 0), (5, 1)))

    overlay(scenario)


def test_too_many_publications(overlay, until):
    sent = 200

    async def scenario(overlay):
        core = overlay.router(limits=Limits(publications_per_second=50.0))
        listener = await overlay.client(core)
        await listener.client.subscribe()
        publisher = await overlay.client(core)
        for _ in range(sent):
            await publisher.client.publish(None)
        dropped = core.endpoint.drops
        await until(lambda: core.router.publications + dropped["rate_limited"] == sent, "everything counted")
        assert 50 <= core.router.publications < 100
        await until(lambda: len(listener.socket) == core.router.publications, "what was let through")
        await until(lambda: "rate_limited" in publisher.kinds(), "the publisher to be told")
        (text,) = {event.detail for _, event in publisher.events if event.kind == "rate_limited"}
        assert "more than 50 publications a second from one host are dropped here" in text
        await asyncio.sleep(0.2)  # the allowance comes back
        again = await publisher.client.publish(None)
        await until(lambda: (again.source, again.sequence) in listener.socket, "a publication after a pause")

    overlay(scenario)
