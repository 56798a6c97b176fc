"""Trees of routers on real sockets: every client gets exactly what matches, counted at its socket (T1, T2, T3)."""

import asyncio
import math
import random
import socket

import pytest

from interest import Box, Cylinder, Sphere

pytestmark = pytest.mark.udp

#: The parent of each router by index; None: the core.
TREES = {
    "chain": (None, 0, 1, 2),
    "star": (None, 0, 0, 0, 0),
    "three levels": (None, 0, 0, 1, 1, 2, 2),
}


class Region:
    """A random region with its own idea of what is inside, so that the test does not ask `interest`."""

    def __init__(self, rng):
        x, y, z, r = rng.uniform(0, 100), rng.uniform(0, 100), rng.uniform(0, 20), rng.uniform(5, 50)
        self.layer = rng.choice(["a", "b", None])
        kind = rng.randrange(3)
        if kind == 0:
            self.piece = Box((x - r, y - r, z - 5), (x + r, y + r, z + 5))
            self.inside = lambda px, py, pz: abs(px - x) <= r and abs(py - y) <= r and abs(pz - z) <= 5
        elif kind == 1:
            self.piece = Sphere((x, y, z), r)
            self.inside = lambda px, py, pz: math.dist((x, y, z), (px, py, pz)) <= r
        else:
            self.piece = Cylinder((x, y), r)
            self.inside = lambda px, py, pz: math.dist((x, y), (px, py)) <= r

    def matches(self, at, layer):
        return self.inside(*at) and self.layer in (None, layer)


@pytest.mark.parametrize("clipping", [True, False], ids=["clipping", "no clipping"])
@pytest.mark.parametrize("tree", TREES)
def test_everybody_gets_exactly_what_matches(overlay, until, tree, clipping):
    rng = random.Random(tree)

    async def scenario(overlay):
        routers = []
        for parent in TREES[tree]:
            upstreams = () if parent is None else (routers[parent].address,)
            routers.append(overlay.router(*upstreams, clipping=clipping))
        # Two clients at the core and at every leaf, one elsewhere; all of them publish, all but the last subscribe.
        leaves = {0, *range(len(routers))} - set(TREES[tree][1:]) | {0}
        clients = [await overlay.client(r) for i, r in enumerate(routers) for _ in range(2 if i in leaves else 1)]
        subscribers = clients[:-1]
        regions = {client: [] for client in clients}
        subscriptions = {}
        for client in subscribers:
            region = Region(rng)
            subscriptions[client] = await client.client.subscribe(region.piece, layer=region.layer)
            regions[client] = [region]

        async def publish_and_compare():
            expected = {client: set() for client in clients}
            for publisher in clients:
                for _ in range(15):
                    at = (rng.uniform(0, 100), rng.uniform(0, 100), rng.uniform(0, 20))
                    layer = rng.choice("ab")
                    sent = await publisher.client.publish(at, layer=layer)
                    for client in clients:
                        if client is not publisher and any(r.matches(at, layer) for r in regions[client]):
                            expected[client].add((sent.source, sent.sequence))
            assert sum(map(len, expected.values())) > 50, "a test that expects next to nothing proves nothing"
            await until(
                lambda: all(len(c.socket) >= len(expected[c]) for c in clients),
                lambda: [(len(c.socket), len(expected[c])) for c in clients],
            )
            await asyncio.sleep(0.1)  # what is unwanted, or comes twice, would have come by now
            for client in clients:
                assert sorted(client.socket) == sorted(expected[client])
                client.socket.clear()

        for round_number in range(2):
            if round_number:  # the areas of interest move, and some want a second place as well
                for client in subscribers:
                    layer = regions[client][0].layer
                    region = Region(rng)
                    region.layer = layer
                    regions[client] = [region]
                    await subscriptions[client].move(region.piece)
                    if rng.random() < 0.3:
                        second = Region(rng)
                        regions[client].append(second)
                        await client.client.subscribe(second.piece, layer=second.layer)
            await publish_and_compare()
        for router in routers:
            assert not router.endpoint.drops
        if tree == "three levels" and clipping:
            ups = [r.router.upstream.filtered(r.router.publications) for r in routers[1:]]
            assert any(ups), "clipping regions kept nothing away from any upstream router"

    overlay(scenario)


def test_a_publisher_that_opted_in_stays_silent_until_somebody_wants_it(overlay, until, short_timers):
    async def scenario(overlay):
        core = overlay.router()
        leaf = overlay.router(core.address)
        publisher = await overlay.client(leaf, source_clipping=True)
        subscriber = await overlay.client(core)
        await subscriber.client.subscribe(Sphere((0, 0, 0), 10))
        far = (1000.0, 0.0, 0.0)
        for _ in range(400):  # until the lease has come, far publications still go out
            if await publisher.client.publish(far) is None:
                break
            await asyncio.sleep(0.01)
        assert publisher.client.inner.host.clipped > 0
        near = await publisher.client.publish((1.0, 0.0, 0.0))
        await until(lambda: (near.source, near.sequence) in subscriber.socket, "the wanted publication")
        await subscriber.client.subscribe(Sphere(far, 10))
        wanted = await publisher.client.publish(far)
        assert wanted is not None, "in force means that no publisher holds back any longer"
        await until(lambda: (wanted.source, wanted.sequence) in subscriber.socket, "the newly wanted publication")

    overlay(scenario, short_timers)


def test_ipv6(overlay, until):
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no ::1")

    async def scenario(overlay):
        core = overlay.router(listen="[::1]:0")
        assert core.address.startswith("[::1]:")
        leaf = overlay.router(core.address, listen="[::1]:0")
        subscriber = await overlay.client("udp:" + leaf.address)
        subscription = await subscriber.client.subscribe(Box((0, 0), (1, 1)))
        publisher = await overlay.client(core)
        await publisher.client.publish((0.5, 0.5), payload=b"six")
        async for publication in subscription:
            assert publication.payload == b"six"
            break

    overlay(scenario)
