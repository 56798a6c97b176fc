"""What programs do with a client that they should not, or that is at the edge: callbacks that fail, calls after the
end, Deferreds that nobody listens to or that are cancelled. The client goes on, or says what is wrong."""

import asyncio
import gc
import time

import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from cbsmrp import aio
from cbsmrp.udp.driver import Driver
from cbsmrp.udp.subscription import QUEUE, Ended
from interest import Box

pytestmark = pytest.mark.udp

HERE = Box((0, 0), (10, 10))


@pytest.fixture
def failures():
    """What Twisted logs as a failure."""
    logged = []

    def observe(event):
        if event.get("log_failure") is not None:
            logged.append(event["log_failure"].value)

    globalLogPublisher.addObserver(observe)
    yield logged
    globalLogPublisher.removeObserver(observe)


def native(deferred):
    return deferred.asFuture(asyncio.get_running_loop())


def test_a_callback_that_fails_is_logged_and_the_client_goes_on(overlay, until, failures):
    async def scenario(overlay):
        core = overlay.router()
        listener, publisher = await overlay.client(core), await overlay.client(core)
        got = []

        def fails(what):
            got.append(what)
            raise RuntimeError("mine")

        listener.client.inner.on_event = fails
        await native(listener.client.inner.subscribe(HERE, on_publication=fails))
        assert [event.kind for event in got] == ["in_force"]
        for x in range(3):
            publisher.client.publish((x, 1))  # all in one datagram
        await until(lambda: len(got) == 4, "all three, though each call has failed")
        assert [str(error) for error in failures] == ["mine"] * 4

    overlay(scenario)


def test_calls_from_inside_callbacks(overlay, until):
    async def scenario(overlay):
        core = overlay.router()
        listener, publisher = await overlay.client(core), await overlay.client(core)
        client = listener.client.inner
        answers, nested = [], []

        def answer(publication):
            client.publish(publication.extent, payload=b"answer")
            subscription.move(Box((0, 0), (20, 20)))
            nested.append(client.subscribe(HERE, layer="nested"))
            client.close()

        answering = await publisher.client.subscribe(HERE)
        subscription = await native(client.subscribe(HERE, on_publication=answer))
        publisher.client.publish((1, 1))
        answers.append(await anext(aiter(answering)))
        assert answers[0].payload == b"answer" and len(nested) == 1
        with pytest.raises(Ended):
            await native(nested[0])

    overlay(scenario)


def test_after_the_end_every_call_says_so(overlay):
    async def scenario(overlay):
        client = (await overlay.client(overlay.router())).client
        subscription = await client.subscribe(HERE)
        subscription.stop()
        subscription.stop()
        with pytest.raises(Ended, match="subscription has ended"):
            await subscription.move(HERE)
        assert [publication async for publication in subscription] == []
        await client.close()
        await client.close()
        subscription.stop()
        for call in (lambda: client.publish((0, 0)), lambda: client.inner.publisher().publish((0, 0))):
            with pytest.raises(Ended, match="client has been closed"):
                call()
        with pytest.raises(Ended, match="client has been closed"):
            await client.subscribe(HERE)

    overlay(scenario)


def test_moves_that_nobody_waits_for_are_neither_kept_nor_logged(overlay, failures):
    async def scenario(overlay):
        core = overlay.router()
        client = (await overlay.client(core)).client
        subscription = await client.subscribe(HERE)
        await native(core.leave())
        overlay.forget(core)
        early = subscription.move(HERE)
        for x in range(3 * QUEUE):
            subscription.move(Box((x % 50, 0), (x % 50 + 1, 1)))
        assert len(client.inner._waiters) <= QUEUE
        late = asyncio.ensure_future(early)  # forgotten by then, and heard all the same
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(Ended):
            await late
        with pytest.raises(Ended):
            await native(client.inner._wait(subscription.inner._engine))

    overlay(scenario)
    gc.collect()
    assert failures == []


def test_a_subscription_whose_caller_gave_up_is_ended(overlay, until):
    async def scenario(overlay):
        core = overlay.router()
        client = (await overlay.client(core)).client
        joining = asyncio.ensure_future(client.subscribe(HERE))
        await asyncio.sleep(0)
        assert len(client.inner.host.subscriptions) == 1
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining
        assert client.inner.host.subscriptions == {}
        kept = await client.subscribe(HERE)
        assert kept.in_force

    overlay(scenario)


def test_time_does_not_go_back_when_the_time_of_day_is_set(overlay, monkeypatch):
    async def scenario(overlay):
        core = overlay.router()
        client = (await overlay.client(core)).client
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now - 86400)
        assert core.now() <= time.monotonic() and client.inner.now() <= time.monotonic()
        assert (await client.subscribe(HERE)).in_force

    overlay(scenario)
    from twisted.internet import reactor

    assert Driver(reactor).now is time.monotonic
    clock = Clock()
    assert Driver(clock).now() == clock.seconds()
    assert aio.LoopReactor.seconds is time.monotonic
