"""A scenario played with real engines on virtual links: starts everything, waits until it is in force, then lets the
workload run, and keeps the logs that `measures` reads.

Called by `events.run`. Nothing is measured in here, and no engine knows of it: hosts log what reaches them, and the
network's trace is listened to by whoever wants to count.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address

import attrs

from cbsmrp.engine import Engine
from cbsmrp.host import Source, Subscription
from cbsmrp.messages import Address
from cbsmrp.modes import MODES
from cbsmrp.settings import ConfigError
from interest import Interest, attr
from interest.expression import Expression
from sim.geometry import Piece
from sim.network import Link
from sim.oracle import NOTHING, Version
from sim.oracle import Publication as Sent
from sim.oracle import Subscription as Wanted
from sim.overlay import HostNode, Overlay
from sim.runs.logging_host import LoggingHost
from sim.scenario.scenario import Scenario, World, build
from sim.scenario.tables import Failure
from sim.workload.workload import Area, Entity, substream, to_interest, to_interest_extent

#: How often we look whether everything is in force, seconds.
LOOK = 0.1
#: How long after the end what was asked for last may take until it is in force, seconds.
LINGER = 5.0


@attrs.define
class _Demand:
    """The log of one area: when it was asked to be what, and as which version of its host's interest."""

    area: Area
    host: LoggingHost
    subscription: Subscription
    asked: list[tuple[float, int, tuple[Piece, ...]]] = attrs.field(factory=list)


class Play:
    """`start` is the time on the clock at which the workload began, infinity before; all times are the clock's."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        self.world: World = build(scenario, seed)
        table = scenario.link
        self._link = Link(0.0, table.jitter, table.loss, table.duplicate, table.reorder, table.lateness,
                          table.publication_loss)  # fmt: skip
        self.overlay = Overlay(f"{seed} overlay", self._link, scenario.timers, scenario.datagram_bytes)
        self.clock, self.network = self.overlay.clock, self.overlay.network
        self.hosts: dict[str, LoggingHost] = {}
        self.start = math.inf
        self.published: list[Sent] = []
        self.clipped = 0
        """Publications that their host kept to itself since nobody else wants them."""
        self.unsent = 0
        """Publications that a host had no router for."""
        self.measured_from = math.inf
        self.first_measured = 0
        self.stopped = math.inf
        self._demands: dict[str, _Demand] = {}
        self._publishers = {
            entity: Source(substream(seed, f"source of {entity.name}").getrandbits(64))
            for entity in self.world.workload.entities
        }

    # -- going on ----------------------------------------------------------------------------------------

    def join(self) -> Iterator[float]:
        """Start routers and hosts; then yield the share of the hosts that have what they want, until all is in force
        and nothing is left to be said. Gives up after `scenario.settle` seconds; then `converged()` is no."""
        world = self.world
        for router in world.tree.routers:
            self._start_router(router)
        for host in world.attachment:
            if world.presence.get(host, (0.0, 0.0))[0] <= 0:
                self._start_host(host)
        self._coming = world.demands()
        self._next_demand = next(self._coming, None)
        while self._next_demand is not None and self._next_demand[0] <= 0:
            self._demand(*self._next_demand[1:])
            self._next_demand = next(self._coming, None)
        while self.clock.now < self.scenario.settle:
            self.overlay.run(LOOK)
            ready = sum(map(self._in_force, self.hosts.values()))
            yield ready / max(len(self.hosts), 1)
            if ready == len(self.hosts) and self.converged():
                break

    def begin(self) -> None:
        """The workload begins now."""
        self.start = self.clock.now
        for host, (arrives, leaves) in self.world.presence.items():  # before what it wants at the same time
            if arrives > 0:
                self.clock.at(self.start + arrives, self._start_host, host)
            if leaves < self.world.duration:
                self.clock.at(self.start + leaves, self._leave, host)
        self._publications = self.world.workload.publications()
        self._publish_next()
        self._demand_later()
        for failure in self.world.failures:
            self._fail(failure)

    def measure_from_now(self) -> None:
        """What was published until now does not count."""
        self.measured_from, self.first_measured = self.clock.now, len(self.published)
        self.clipped = self.unsent = 0

    def sequences(self) -> dict[int, int]:
        """The next sequence number of each source that has published."""
        return {each.id: each.sequence for each in self._publishers.values() if each.sequence}

    def go(self, first: float, last: float, steps: int) -> Iterator[float]:
        """These seconds of the workload, without what is due at the last moment; yields how far it is."""
        for step in range(1, steps + 1):
            t = first + (last - first) * step / steps
            self.clock.run(math.nextafter(self.start + t, 0.0))
            yield t

    def stop(self) -> None:
        """No more workload from now on."""
        self.stopped = self.clock.now

    def finish(self) -> None:
        """Let what was sent arrive, and what was asked for come into force."""
        self.stop()
        self.overlay.run(self.longest_way())
        until = self.clock.now + LINGER
        while self.clock.now < until and not all(map(self._in_force, self.overlay.hosts.values())):
            self.overlay.run(LOOK)

    def longest_way(self) -> float:
        """The longest that a publication is under way between two hosts, seconds."""
        tree, link = self.world.tree, self.scenario.link
        far = {tree.core: 0.0}
        for router in tree.routers[1:]:
            far[router] = far[tree.parents[router]] + tree.delays[router]
        homes = set(self.world.attachment.values())
        deepest = max((tree.depth(router) for router in homes), default=0)
        farthest = max((far[router] for router in homes), default=0.0)
        return 2 * (farthest + link.host_delay) + 2 * (deepest + 1) * link.jitter + 1e-6

    def require_in_force(self) -> None:
        """Raises ConfigError if not everybody who is there has what he wants."""
        waiting = [name for name, host in self.hosts.items() if not self._in_force(host)]
        if waiting:
            raise ConfigError(
                f"after {self.scenario.settle:g} s, {len(waiting)} of {len(self.hosts)} hosts (such as {waiting[0]}) do"
                " not have in force what they want: give a longer settle, or links with less loss"
            )

    def addresses(self, *names: str) -> dict[Address, IPv4Address]:
        """Addresses for captures: of routers in 10.0.0.0/16, of hosts in 10.1.0.0/16, in the order of the tree.

        Raises ConfigError for a name that there is not.
        """
        routers, hosts = self.world.tree.routers, list(self.world.attachment)
        found: dict[Address, IPv4Address] = {}
        for name in names:
            if name in self.world.attachment:
                found[name] = IPv4Address("10.1.0.1") + hosts.index(name)
            elif name in routers:
                found[name] = IPv4Address("10.0.0.1") + routers.index(name)
            else:
                raise ConfigError(
                    f"no router and no host is called {name!r}: give names such as {routers[0]}, {hosts[0]}"
                )
        return found

    def converged(self) -> bool:
        """Has everybody said all there is to say, and knows that it was heard, and has left who is not needed?"""
        for each in self.overlay.routers.values():
            if not each.router.rib.has_children and each.router.upstream is not None and each.router.upstream.joined:
                return False
        engines: list[Engine] = [each.router for each in self.overlay.routers.values()]
        engines += [each.host for each in self.overlay.hosts.values()]
        return all(
            not vif.dirty and vif.shrink_at == math.inf and vif.accepted >= vif.out_version
            for engine in engines
            for vif in engine.rib
            if vif.joined
        )

    # -- what was logged ---------------------------------------------------------------------------------

    def until_in_force(self) -> tuple[list[float], list[float], int]:
        """Seconds from asking until in force: of each host's first wishes, before the workload began or when it came
        later; of each later one that was asked for while measuring; and how many of these never were in force."""
        first: list[float] = []
        later: list[float] = []
        never = 0
        for subscriptions in self.wanted().values():
            for subscription in subscriptions:
                for number, version in enumerate(subscription.versions):
                    if not version.pieces:
                        continue
                    if number and version.asked < self.measured_from:
                        continue
                    if version.in_force is None:
                        never += 1
                    else:
                        (later if number else first).append(version.in_force - version.asked)
        return first, later, never

    def wanted(self) -> dict[str, list[Wanted]]:
        """What every host asked for, and when that was in force, for the oracle."""
        found: dict[str, list[Wanted]] = {}
        for demand in self._demands.values():
            log = demand.host.in_force_log
            times = [time for time, _ in log]
            lost = [at for at, (_, version) in enumerate(log) if not version]
            versions = []
            for asked, version, pieces in demand.asked:
                after = range(bisect_left(times, asked), len(log))
                in_force = next((times[at] for at in after if version and log[at][1] >= version), None)
                versions.append(Version(asked, in_force, pieces, demand.area.layer, demand.area.conditions))
            unpromised = [(times[at], times[at + 1] if at + 1 < len(log) else math.inf) for at in lost]
            found.setdefault(demand.host.name, []).append(Wanted(versions, unpromised))
        return found

    # -- inside ------------------------------------------------------------------------------------------

    def _in_force(self, host: HostNode) -> bool:
        return host.host.joined and host.host.in_force >= host.host.version

    def _start_router(self, router: str) -> None:
        scenario, tree = self.scenario, self.world.tree
        above = [tree.parents[router], *self.world.backups.get(router, ())] if router in tree.parents else []
        for other in above:
            self._connect(router, other, tree.graph.edges[router, other]["delay"])
        self.overlay.router(
            router, above, mode=MODES[scenario.mode], clipping=scenario.clipping, budget=scenario.budget
        )

    def _start_host(self, host: str) -> None:
        routers = [self.world.attachment[host], *self.world.backups.get(host, ())]
        for router in routers:
            self._connect(host, router, self.scenario.link.host_delay)
        started = self.overlay.host(host, routers, opted=self.scenario.source_clipping, node=LoggingHost)
        assert isinstance(started, LoggingHost)
        self.hosts[host] = started

    def _connect(self, a: str, b: str, delay: float) -> None:
        self.network.connect(a, b, attrs.evolve(self._link, delay=delay))

    def _leave(self, host: str) -> None:
        if self.clock.now <= self.stopped:
            self.overlay.leave(host)

    def _demand_later(self) -> None:
        if self._next_demand is not None:
            self.clock.at(self.start + self._next_demand[0], self._demand_next)

    def _demand_next(self) -> None:
        if self._next_demand is not None and self.clock.now <= self.stopped:
            self._demand(*self._next_demand[1:])
            self._next_demand = next(self._coming, None)
            self._demand_later()

    def _demand(self, area: Area, piece: Piece | None) -> None:
        """From now on, the area is this."""
        now, demand = self.clock.now, self._demands.get(area.name)
        if piece is None:  # its owner leaves with everything
            if demand is not None:
                demand.asked.append((now, 0, NOTHING))
            return
        wanted = Interest.of(to_interest(piece), layer=area.layer, where=_where(area))
        if demand is None:
            host = self.hosts[area.owner]
            demand = self._demands[area.name] = _Demand(area, host, host.subscribe(wanted))
        else:
            demand.host.move(demand.subscription, wanted)
        demand.asked.append((now, demand.subscription.version, (piece,)))

    def _publish_next(self) -> None:
        upcoming = next(self._publications, None)
        if upcoming is not None:
            self.clock.at(self.start + upcoming[0], self._publish, upcoming[1], upcoming[0])

    def _publish(self, entity: Entity, t: float) -> None:
        if self.clock.now > self.stopped:
            return
        publisher, host = self._publishers[entity], self.hosts[entity.owner]
        extent = entity.extent(t)
        attributes = dict(entity.attributes)
        if entity.layer is not None:
            attributes["layer"] = entity.layer
        if host.host.joined:
            sequence = publisher.sequence
            sent = host.endpoint.publish(
                to_interest_extent(extent), attributes, bytes(entity.payload), self.clock.now, publisher
            )
            host.node.pump()
            self.clipped += sent is None
            self.published.append(
                Sent(self.clock.now, host.name, publisher.id, sequence, extent, entity.attributes, entity.layer)
            )
            publisher.sequence = sequence + 1  # one that was held back is judged as well, and has a name of its own
        else:
            self.unsent += 1
        self._publish_next()

    def _fail(self, failure: Failure) -> None:
        begin, end = self.start + failure.at, self.start + failure.until
        calls: tuple[Callable[..., None], Callable[..., None]]
        if failure.router:
            calls = (self._kill, self._start_router)
            names: tuple[str, ...] = (failure.router,)
        else:
            calls = (self.network.cut, self.network.mend)
            names = (failure.link, self.world.tree.parents[failure.link])
        self.clock.at(begin, calls[0], *names)
        if end < math.inf:
            self.clock.at(end, calls[1], *names)

    def _kill(self, router: str) -> None:
        if router in self.overlay.routers:
            self.overlay.kill(router)


def _where(area: Area) -> Expression | None:
    """The area's conditions, as a subscriber gives them to the client."""
    found: Expression | None = None
    for _, name, value in area.conditions:
        one: Expression = attr(name) == value
        found = one if found is None else found & one
    return found
