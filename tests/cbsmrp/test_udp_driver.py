"""The driver's few lines around an endpoint, on a clock and a socket of our own: full buffers, send errors, alarms."""

import errno
from collections import Counter
from math import inf

from twisted.internet.task import Clock

from cbsmrp.udp.driver import MAX_QUEUE, Driver

HERE, THERE = ("127.0.0.1", 1), ("127.0.0.1", 2)


class Endpoint:
    """Wants sent what a test puts into `out`."""

    def __init__(self):
        self.out, self.expired, self.deadline, self.drops = [], [], inf, Counter()

    def flush(self):
        pass

    def take_datagrams(self):
        out, self.out = self.out, []
        return out

    def next_deadline(self):
        return self.deadline

    def expire(self, now):
        self.expired.append(now)
        self.deadline = inf


class Socket:
    def __init__(self):
        self.sent, self.error = [], None

    def write(self, data, address):
        if self.error is not None:
            raise self.error
        self.sent.append((address, data))


def driver():
    clock = Clock()
    made = Driver(clock)
    made.endpoint, made.transport = Endpoint(), Socket()
    return clock, made, made.endpoint, made.transport


def test_a_full_buffer_keeps_order_and_drops_the_oldest():
    clock, made, endpoint, socket = driver()
    socket.error = BlockingIOError(errno.EAGAIN, "full")
    endpoint.out = [(HERE, b"%d" % n) for n in range(MAX_QUEUE + 3)] + [(THERE, b"there")]
    made.pump()
    assert made.unsent == MAX_QUEUE + 1
    assert endpoint.drops == {"queue_full": 3}
    clock.advance(0.1)
    assert socket.sent == []
    socket.error = None
    endpoint.out = [(HERE, b"last")]  # does not overtake what waits
    made.pump()
    clock.advance(0.1)
    to_here = [data for address, data in socket.sent if address == HERE]
    assert to_here == [b"%d" % n for n in range(4, MAX_QUEUE + 3)] + [b"last"]
    assert (THERE, b"there") in socket.sent and made.unsent == 0
    endpoint.out = [(HERE, b"at once")]
    made.pump()
    assert socket.sent[-1] == (HERE, b"at once")


def test_send_errors_are_counted_and_do_no_harm():
    _, made, endpoint, socket = driver()
    socket.error = OSError(errno.ENETUNREACH, "unreachable")
    endpoint.out = [(HERE, b"1"), (HERE, b"2")]
    made.pump()
    socket.error = None
    endpoint.out = [(HERE, b"3")]
    made.pump()
    assert endpoint.drops == {"send_error": 2} and socket.sent == [(HERE, b"3")]


def test_one_alarm_at_the_newest_deadline():
    clock, made, endpoint, _ = driver()
    endpoint.deadline = 5.0
    made.pump()
    endpoint.deadline = 2.0
    made.pump()
    clock.advance(1.9)
    assert endpoint.expired == []
    clock.advance(0.1)
    assert endpoint.expired == [2.0]
    clock.advance(10)
    assert endpoint.expired == [2.0]
    endpoint.deadline = 13.0
    made.pump_soon()
    made.pump_soon()
    clock.advance(0)
    assert len(clock.getDelayedCalls()) == 1
    made.stopProtocol()
    assert clock.getDelayedCalls() == []
