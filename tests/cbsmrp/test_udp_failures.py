"""What dies on a live overlay, and how the rest goes on: kill -9 of routers and clients, restarts, silence."""

import asyncio
import json
import signal
import socket
import time

import pytest

from cbsmrp.config import Timers
from cbsmrp.udp.client import CannotConnect
from interest import Box, Sphere

pytestmark = pytest.mark.udp

#: A client process with short timers: subscribes to a sphere and says when that is in force.
CLIENT = """
import asyncio, sys
from cbsmrp import aio
from cbsmrp.config import Timers
from interest import Sphere
async def main():
    client = await aio.connect(sys.argv[1], timers=Timers(host_hello=0.2, host_hold=0.8, resend=0.03, resend_max=0.2))
    subscription = await client.subscribe(Sphere((0, 0, 0), 10))
    print("in force", flush=True)
    async for publication in subscription:
        print(publication.sequence, flush=True)
asyncio.run(main())
"""


async def lost_and_again(listener, until, since):
    """Wait for in_force_lost and then in_force; seconds from `since` to each."""

    def times(kind, after):
        return [at for at, event in listener.events if event.kind == kind and at > after]

    await until(lambda: times("in_force_lost", since), lambda: f"in_force_lost, but {listener.kinds()}")
    lost = times("in_force_lost", since)[0]
    await until(lambda: times("in_force", lost), lambda: f"in_force again, but {listener.kinds()}")
    return lost - since, times("in_force", lost)[-1] - since


async def arrives(publisher, subscriber, until):
    sent = await publisher.client.publish((1.0, 1.0, 1.0))
    await until(lambda: (sent.source, sent.sequence) in subscriber.socket, "what is sent once it is in force again")
    assert subscriber.socket.count((sent.source, sent.sequence)) == 1


def test_a_router_in_the_middle_is_killed(overlay, processes, until, short_timers, short_config, figure):
    async def scenario(overlay):
        core = overlay.router()
        loop = asyncio.get_running_loop()
        middle, started = await loop.run_in_executor(
            None, lambda: processes.router("--upstream", core.address, "--config", short_config)
        )
        second = overlay.router(core.address)
        leaf = overlay.router(started["address"], second.address)
        subscriber = await overlay.client(leaf)
        subscription = await subscriber.client.subscribe(Sphere((0, 0, 0), 10))
        publisher = await overlay.client(core)
        assert leaf.router.upstream.address == ("127.0.0.1", int(started["address"].split(":")[1]))
        await arrives(publisher, subscriber, until)
        killed = time.monotonic()
        middle.kill()
        lost, again = await lost_and_again(subscriber, until, killed)
        assert subscription.in_force
        assert leaf.router.upstream.address == ("127.0.0.1", int(second.address.split(":")[1]))
        figure("router killed, in_force_lost", lost)
        figure("router killed, in force through the second upstream", again)
        await arrives(publisher, subscriber, until)
        # The core forgets the dead child, and sends nothing more there.
        await until(lambda: len(core.router.rib.children()) == 2, "the dead router's VIF to go")

    overlay(scenario, short_timers)


def test_a_client_is_killed(overlay, processes, until, short_timers, figure):
    async def scenario(overlay):
        core = overlay.router()
        leaf = overlay.router(core.address, keep_attached=True)
        client = processes.python("-c", CLIENT, leaf.address)
        line = await asyncio.get_running_loop().run_in_executor(None, client.stdout.readline)
        assert line == "in force\n", client.stderr.read()
        (to_leaf,) = core.router.rib.children()
        assert to_leaf.in_value.piece_count == 1
        killed = time.monotonic()
        client.kill()
        await until(lambda: not leaf.router.rib.children(), "the dead client's VIF to go")
        await until(lambda: not to_leaf.in_value, "the region to shrink upstream")
        figure("client killed, region gone at the core", time.monotonic() - killed)
        assert leaf.router.upstream.joined
        publisher = await overlay.client(core)
        await publisher.client.publish((0.0, 0.0, 0.0))
        await asyncio.sleep(0.1)
        assert to_leaf.traffic.packets_out == 0

    overlay(scenario, short_timers)


def test_the_core_is_restarted(overlay, processes, until, short_timers, short_config, figure):
    async def scenario(overlay):
        loop = asyncio.get_running_loop()
        core, started = await loop.run_in_executor(None, lambda: processes.router("--config", short_config))
        address = started["address"]
        left, right = overlay.router(address), overlay.router(address)
        subscriber = await overlay.client(left)
        subscription = await subscriber.client.subscribe(Sphere((0, 0, 0), 10))
        publisher = await overlay.client(right)
        await arrives(publisher, subscriber, until)
        killed = time.monotonic()
        core.kill()
        core.wait()
        await loop.run_in_executor(None, lambda: processes.router("--config", short_config, listen=address))
        figure("core restarted, listening", time.monotonic() - killed)
        lost, again = await lost_and_again(subscriber, until, killed)
        figure("core restarted, in_force_lost", lost)
        figure("core restarted, in force again", again)
        assert subscription.in_force
        await until(lambda: right.router.attached, "the other branch to be back")
        await arrives(publisher, subscriber, until)

    overlay(scenario, short_timers)


def test_a_client_goes_to_its_second_router(overlay, until, short_timers, figure):
    async def scenario(overlay):
        core = overlay.router()
        first, second = overlay.router(core.address), overlay.router(core.address)
        subscriber = await overlay.client(first, second)
        await subscriber.client.subscribe(Box((0, 0), (5, 5)))
        publisher = await overlay.client(core)
        left = time.monotonic()
        await first.leave().asFuture(asyncio.get_running_loop())  # a router that leaves says so
        _, again = await lost_and_again(subscriber, until, left)
        figure("router left, in force at the next", again)
        assert subscriber.client.inner.parent == second.address
        await arrives(publisher, subscriber, until)
        overlay.forget(first)

    overlay(scenario, short_timers)


def test_nobody_answers(overlay, free_port):
    async def scenario(overlay):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind(("127.0.0.1", free_port))
            with pytest.raises(CannotConnect, match=rf"no router at 127.0.0.1:{free_port} within 0.3 s \(.*no answer"):
                await overlay.client(f"127.0.0.1:{free_port}", timeout=0.3)

    overlay(scenario)


STOPPED = """
import asyncio, json, sys
from cbsmrp import aio
from cbsmrp.config import Timers
from interest import Box
async def main():
    timers = Timers(host_hello=0.2, host_hold=30.0)
    client = await aio.connect(sys.argv[1], timers=timers, receive_buffer=65536)
    subscription = await client.subscribe(Box((0, 0), (1, 1)))
    print("in force", flush=True)
    got = set()
    async def read():
        async for publication in subscription:
            got.add(publication.sequence)
    reading = asyncio.create_task(read())
    traffic, sent = client.inner.host.upstream.traffic, int(sys.argv[2])
    while len(got) + traffic.lost_on_link < sent:
        await asyncio.sleep(0.02)
    reading.cancel()
    print(json.dumps({"received": len(got), "lost_on_link": traffic.lost_on_link}), flush=True)
    await client.close()
asyncio.run(main())
"""


def test_a_stopped_receiver_loses_in_its_socket_and_knows_it(overlay, processes):
    sent = 600

    async def scenario(overlay):
        core = overlay.router()
        loop = asyncio.get_running_loop()
        client = processes.python("-c", STOPPED, core.address, str(sent))
        assert await loop.run_in_executor(None, client.stdout.readline) == "in force\n", client.stderr.read()
        publisher = await overlay.client(core)
        client.send_signal(signal.SIGSTOP)
        for _ in range(sent):  # a datagram each, and each handled before the next
            await publisher.client.publish((0.5, 0.5), payload=bytes(1000))
            await asyncio.sleep(0.001)
        (vif,) = [v for v in core.router.rib.children() if v.in_value]
        while vif.traffic.datagrams_out < sent:
            await asyncio.sleep(0.01)
        client.send_signal(signal.SIGCONT)
        told = json.loads(await loop.run_in_executor(None, client.stdout.readline))
        assert told["lost_on_link"] > 0
        assert told["received"] + told["lost_on_link"] == sent
        assert not core.endpoint.drops

    overlay(scenario, timers=Timers(host_hello=0.2, host_hold=30.0))
