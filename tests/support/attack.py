"""Random attacks on a virtual overlay, with an oracle that knows everything and does not use `interest` to decide.

The world is a row of cells; what a host wants is a set of cells (an int used as a bit set), handed to the overlay as
boxes.
Hosts move, publish, come and go; routers crash, restart and change parents; control datagrams are lost, doubled and
late.
Held at all times: a publication sent after "in force" of a region that still holds reaches the host, if no failure lies
between; at most once by (source, sequence); nobody hears its own; nothing unwanted at a host's socket. Held after
quiet:
every SR and CR equals equations (1) and (2), computed here; every subscription is in force; everybody is attached.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import attrs

from cbsmrp.config import Timers
from cbsmrp.host import Subscription
from cbsmrp.ready import InForce, InForceLost
from cbsmrp.vif import APPLICATION, UPSTREAM, Vif, VifKind
from interest import NOTHING, Box, Interest, Point, Region
from sim.network import Link
from sim.overlay import HostNode, Overlay, RouterNode

EVERYTHING = -1
#: Quick enough that a run of some virtual seconds holds many repairs; link delays are 5 to 15 ms.
TIMERS = Timers(
    hello=0.1,
    hold=1.5,
    host_hello=0.1,
    host_hold=1.5,
    resend=0.04,
    resend_max=0.16,
    flush=2.0,
    lifetime=0.5,
    linger=0.2,
    lease=0.3,
    update_interval=0.0,
    host_shrink_delay=0.05,
)


@attrs.define
class Plan:
    """Rates are per virtual second over the whole world."""

    routers: int = 10
    hosts: int = 14
    cells: int = 24
    seconds: float = 2.0
    quiet: float = 6.0
    loss: float = 0.2
    duplicate: float = 0.2
    reorder: float = 0.2
    move: float = 200.0
    publish: float = 300.0
    churn: float = 5.0
    vanish: float = 0.0
    crash: float = 0.0
    rehome: float = 0.0
    opted: float = 0.5
    candidates: int = 1
    budget: int = 0
    keep_attached: bool = True
    timers: Timers = TIMERS


def cell_box(cell: int) -> Box:
    return Box((10.0 * cell, 0.0, 0.0), (10.0 * cell + 9.0, 9.0, 9.0))


def cell_point(cell: int) -> Point:
    return Point((10.0 * cell + 4.0, 5.0, 5.0))


def as_interest(mask: int) -> Interest:
    cells = [i for i in range(mask.bit_length()) if mask >> i & 1]
    return Interest.of(Region([cell_box(i) for i in cells])) if cells else NOTHING


@attrs.define
class Life:
    """One life of a host: what it asked for, by version, and what it may rely on now."""

    node: HostNode
    subscription: Subscription
    regions: dict[int, int]
    sure: int = 0
    born: dict[int, float] = attrs.field(factory=dict)


class World:
    def __init__(self, seed: int, plan: Plan) -> None:
        self.plan = plan
        self.rng = r = random.Random(seed)
        link = Link(
            delay=0.005,
            jitter=0.01,
            loss=plan.loss,
            duplicate=plan.duplicate,
            reorder=plan.reorder,
        )
        self.overlay = Overlay(seed, link, plan.timers)
        self.problems: list[Any] = []
        self.stats: Counter[str] = Counter()
        self.latencies: list[float] = []
        self.lives: dict[str, Life] = {}
        self.parents: dict[str, list[str]] = {}
        count = r.randint(max(2, plan.routers // 3), plan.routers)
        self.router_names = [f"R{i}" for i in range(count)]
        for i in range(1, count):
            first = (
                r.choice(self.router_names[max(0, i - 4) : i]) if r.random() < 0.5 else r.choice(self.router_names[:i])
            )
            others = [x for x in self.router_names if x not in (self.router_names[i], first)]
            r.shuffle(others)
            self.parents[self.router_names[i]] = [first, *others][: plan.candidates]
        for name in self.router_names:
            self.start_router(name)
        self.host_names = [f"H{i}" for i in range(r.randint(max(2, plan.hosts // 3), plan.hosts))]
        for name in self.host_names:
            others = list(self.router_names)
            r.shuffle(others)
            self.parents[name] = others[: plan.candidates]
        self.overlay.run(0.8)
        for name in self.host_names:
            self.start_host(name)

    # -- acting ----------------------------------------------------------------------------------------

    def start_router(self, name: str) -> None:
        self.overlay.router(
            name, self.parents.get(name, ()), budget=self.plan.budget, keep_attached=self.plan.keep_attached
        )

    def start_host(self, name: str) -> None:
        node = self.overlay.host(name, self.parents[name], opted=self.rng.random() < self.plan.opted)
        mask = self.some_region()
        subscription = node.subscribe(as_interest(mask))
        life = self.lives[name] = Life(node, subscription, {subscription.version: mask})
        life.born[subscription.version] = self.overlay.clock.now
        plain = node.endpoint._notice

        def notice(what: Any) -> None:
            plain(what)
            if isinstance(what, InForce):
                life.sure = EVERYTHING if what.version in life.regions else 0
                for version, region in life.regions.items():
                    if version >= what.version:
                        life.sure &= region
                for version in [v for v in life.born if v <= what.version]:
                    self.latencies.append(self.overlay.clock.now - life.born.pop(version))
            elif isinstance(what, InForceLost):
                life.sure = 0

        node.endpoint._notice = notice

    def some_region(self, last: int | None = None) -> int:
        r, cells = self.rng, self.plan.cells
        if last and r.random() < 0.4:
            return (last << 1 | last) & ((1 << cells) - 1) or last
        start, width = r.randrange(cells), r.choice([0, 1, 1, 2, 3, 5])
        mask = sum(1 << i for i in range(start, min(cells, start + width)))
        return mask | (1 << r.randrange(cells) if r.random() < 0.2 else 0)

    def move(self, name: str) -> None:
        life = self.lives[name]
        mask = self.some_region(life.regions[max(life.regions)])
        coming = life.node.host.version + 1
        life.regions[coming] = mask
        life.sure &= mask
        life.born[coming] = self.overlay.clock.now
        version = life.node.move(life.subscription, as_interest(mask))
        assert version == coming
        self.stats["moves"] += 1

    def publish(self, name: str) -> None:
        life = self.lives[name]
        cells = [self.rng.randrange(self.plan.cells)]
        mask = 1 << cells[0]
        if self.rng.random() < 0.2:  # one that is large
            other = min(self.plan.cells - 1, cells[0] + 2)
            extent: Any = Box(cell_box(cells[0]).low, cell_box(other).high)
            for i in range(cells[0], other + 1):
                mask |= 1 << i
        else:
            extent = cell_point(cells[0])
        if self.rng.random() < 0.15:
            self.invariant()
        mine = self.chain(name)
        must = []
        if mine is not None:
            for other_name, theirs in self.lives.items():
                if other_name != name and theirs.sure & mask and other_name in self.overlay.hosts:
                    chain = self.chain(other_name)
                    if chain is not None:
                        must.append((other_name, theirs, max(theirs.regions), set(mine) ^ set(chain)))
        sent = life.node.publish(extent)
        if sent is None:
            if must and life.node.host.joined:
                self.problems.append(("CLIPPED AT SOURCE", name, mask, [m[0] for m in must], self.overlay.clock.now))
            return
        self.stats["publications"] += 1
        self.stats["must"] += len(must)
        if must:
            self.overlay.clock.after(1.0, self.check, (sent.source, sent.sequence), mask, must, self.overlay.clock.now)

    def check(self, identity: tuple[int, int], mask: int, must: list[Any], sent_at: float) -> None:
        for name, life, version, path in must:
            if self.lives.get(name) is not life or name not in self.overlay.hosts:
                continue
            if not all(self.live(*hop) for hop in path):
                self.stats["excused by a failure between"] += 1
                continue
            held = EVERYTHING
            for v, region in life.regions.items():
                if v >= version:
                    held &= region
            if not held & mask:
                continue
            self.stats["checked"] += 1
            if not any((f.source, f.sequence) == identity for _, f in life.node.arrived):
                self.problems.append(("PROMISE BROKEN", name, identity, bin(mask), sent_at, path))

    # -- the oracle ------------------------------------------------------------------------------------

    def node(self, name: str) -> RouterNode | HostNode | None:
        return self.overlay.routers.get(name) or self.overlay.hosts.get(name)

    def engine(self, name: str) -> Any:
        node = self.node(name)
        return None if node is None else node.router if isinstance(node, RouterNode) else node.host

    def child_vif(self, parent: str, child: str, session: Any) -> Vif | None:
        engine = self.engine(parent)
        if engine is None:
            return None
        vif = engine.rib.at(child)
        found = vif is not None and vif.id not in (UPSTREAM, APPLICATION) and vif.session == session
        return vif if found else None

    def live(self, child: str, session: Any, parent: str) -> bool:
        """Does this session stand at both ends?"""
        engine, above = self.engine(child), self.engine(parent)
        if engine is None or above is None:
            return False
        up = engine.upstream
        return (
            up.joined
            and up.session == session
            and up.parent_generation == above.generation
            and self.child_vif(parent, child, session) is not None
        )

    def chain(self, name: str) -> list[tuple[str, Any, str]] | None:
        """[(child, session, parent), ...] up to the core, if every session stands at both ends."""
        chain: list[tuple[str, Any, str]] = []
        engine = self.engine(name)
        while engine is not None and not engine.core:
            up = engine.upstream
            if not up.joined or not self.live(name, up.session, up.address):
                return None
            chain.append((name, up.session, up.address))
            name = up.address
            engine = self.engine(name)
            if len(chain) > 100:
                self.problems.append(("LOOP", self.overlay.clock.now, [c for c, _, _ in chain[:20]]))
                return None
        return chain if engine is not None else None

    def look_for_loops(self) -> None:
        for name in self.overlay.routers:
            self.chain(name)
        self.overlay.clock.after(0.01, self.look_for_loops)

    def cells_of(self, value: Interest) -> int:
        return sum(1 << i for i in range(self.plan.cells) if value.matches(cell_point(i), {}))

    def invariant(self) -> None:
        """What a host has been told is in force stands, now, in every VIF on every path from an attached host to it."""
        chains = {name: chain for name in self.overlay.hosts if (chain := self.chain(name)) is not None}
        for name, chain in chains.items():
            sure = self.lives[name].sure
            if not sure:
                continue
            seen: set[str] = set()
            for other, others in chains.items():
                if other == name:
                    continue
                common = set(chain) & set(others)
                for child, session, _ in others:
                    if (child, session, _) in common or child in seen:
                        break
                    seen.add(child)
                    engine = self.engine(child)
                    if not (engine.is_host and (not engine.opted or engine.now >= engine.upstream.lease_until)) and (
                        sure & ~self.cells_of(engine.upstream.in_value)
                    ):
                        self.problems.append(("INVARIANT upwards", name, other, child, self.overlay.clock.now))
                        return
                for child, session, parent in [hop for hop in chain if hop not in common]:
                    vif = self.child_vif(parent, child, session)
                    assert vif is not None
                    if sure & ~self.cells_of(vif.in_value):
                        self.problems.append(("INVARIANT downwards", name, other, parent, self.overlay.clock.now))
                        return
            self.stats["invariants"] += 1

    # -- running ---------------------------------------------------------------------------------------

    def run(self) -> World:
        plan, r = self.plan, self.rng
        clock = self.overlay.clock
        end = clock.now + plan.seconds
        if plan.rehome:
            self.look_for_loops()
        rates = {
            "move": plan.move,
            "publish": plan.publish,
            "churn": plan.churn,
            "vanish": plan.vanish,
            "crash": plan.crash,
            "rehome": plan.rehome,
        }
        down: list[str] = []
        while clock.now < end:
            self.overlay.run(r.expovariate(sum(rates.values())))
            (what,) = r.choices(list(rates), list(rates.values()))
            alive = [name for name in self.host_names if name in self.overlay.hosts]
            gone = [name for name in self.host_names if name not in self.overlay.hosts]
            if what == "move" and alive:
                name = r.choice(alive)
                if int(name[1:]) % 2 or r.random() < 0.05:  # half of the hosts hardly move
                    self.move(name)
            elif what == "publish" and alive:
                self.publish(r.choice(alive))
            elif what == "churn":
                if gone and r.random() < 0.6:
                    self.start_host(r.choice(gone))
                elif alive:
                    name = r.choice(alive)
                    self.overlay.leave(name)
                    self.lives[name].sure = 0
            elif what == "vanish" and alive:
                name = r.choice(alive)
                self.overlay.kill(name)
                self.lives[name].sure = 0
            elif what == "crash":
                if down and r.random() < 0.6:
                    self.start_router(down.pop(r.randrange(len(down))))
                elif self.overlay.routers:
                    name = r.choice(sorted(self.overlay.routers))
                    self.overlay.kill(name)
                    if r.random() < 0.5:
                        self.start_router(name)
                    else:
                        down.append(name)
            elif what == "rehome":
                candidates = [n for n in self.router_names[1:] + alive if self.node(n) is not None]
                if candidates:
                    self.lose_parent(r.choice(candidates))
        for name in down:
            self.start_router(name)
        self.overlay.run(plan.quiet)
        self.overlay.network.link = attrs.evolve(self.overlay.network.link, loss=0.0)
        self.overlay.run(6.0 if plan.crash or plan.rehome else 2.0)
        self.after_quiet()
        return self

    def lose_parent(self, name: str) -> None:
        node, engine = self.node(name), self.engine(name)
        assert node is not None
        engine.now = self.overlay.clock.now
        engine._drop_upstream("the test says so", tell=self.rng.random() < 0.5)
        engine._finish()
        node.endpoint._carry_out()
        node.node.pump()

    def after_quiet(self) -> None:
        bad = self.problems.append
        wants = {name: self.lives[name].regions[max(self.lives[name].regions)] for name in self.overlay.hosts}
        below: dict[str, set[str]] = defaultdict(set)
        for name in [*self.overlay.routers, *self.overlay.hosts]:
            engine = self.engine(name)
            if engine.core or (not engine.is_host and not engine.keep_attached and not engine.rib.has_children):
                continue
            chain = self.chain(name)
            if chain is None:
                bad(("NOT ATTACHED", name))
            elif engine.is_host:
                for child, _, _ in chain:
                    below[child].add(name)

        def union(names: set[str]) -> int:
            mask = 0
            for name in names:
                mask |= wants[name]
            return mask

        for name in [*self.overlay.routers, *self.overlay.hosts]:
            engine = self.engine(name)
            for vif in engine.rib:
                if vif.id in (UPSTREAM, APPLICATION):
                    continue
                if not self.live(vif.address, vif.session, name):
                    bad(("GHOST", name, vif.address))
                    continue
                want, have = union(below[vif.address]), self.cells_of(vif.in_value)
                if want & ~have or (want != have and (not self.plan.budget or vif.kind is VifKind.HOST)):
                    bad(("SR", name, vif.address, bin(want), bin(have)))
            if engine.core or not engine.upstream.joined:
                continue
            want, have = union(set(wants) - below[name]), self.cells_of(engine.upstream.in_value)
            if engine.is_host and not engine.opted:
                want = (1 << self.plan.cells) - 1
            if want & ~have or (want != have and not self.plan.budget):
                bad(("CR", name, bin(want), bin(have)))
            if engine.is_host:
                if engine.in_force != engine.version:
                    bad(("NOT IN FORCE", name, engine.in_force, engine.version))
                life = self.lives[name]
                own = [(f.source, f.sequence) for _, _, f in life.node.delivered if f.source == engine.source]
                if own:
                    bad(("HEARD ITSELF", name, own[:3]))
                twice = Counter((f.source, f.sequence) for _, _, f in life.node.delivered)
                if any(n > 1 for n in twice.values()):
                    bad(("DELIVERED TWICE", name))
        self.stats["arrived twice"] = sum(self.engine(n).duplicates for n in self.overlay.hosts)
