"""The forwarding table: content against brute force, and two toy modes that need what CBSMRP's own does not.

A mode that routes by source tree labels a publication with its tree and limits where each label may go, depending on
where it came from; a mode with channels classifies a publication where it enters, and forwards by the channel's
label. Both are written here against the table's interface alone.
"""

from __future__ import annotations

from collections import Counter

import attrs
from hypothesis import given
from hypothesis import strategies as st

from cbsmrp.fib import ChannelChange, Fib, FibChange, Hop, ScopeChange
from cbsmrp.messages import Publication
from cbsmrp.wire import PublicationFrame, encode_publication
from interest import EVERYTHING, NOTHING, Box, Interest, Point, Value, attr

# -- content ---------------------------------------------------------------------------------------

TEAMS = ("red", "blue")
coordinates = st.integers(0, 12)


@st.composite
def wants(draw: st.DrawFn) -> tuple[Interest, tuple[int, int, str | None] | None]:
    """An interest, and the same as (low, high, team) for the brute force. None: nothing."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return NOTHING, None
    if kind == 1:
        return EVERYTHING, (-100, 100, None)
    low = draw(coordinates)
    high = low + draw(st.integers(0, 6))
    team = draw(st.none() | st.sampled_from(TEAMS))
    where = None if team is None else attr("team") == team
    return Interest.of(Box((low, 0, 0), (high, 5, 5)), where=where), (low, high, team)


changes = st.lists(st.tuples(st.integers(0, 6), st.none() | wants()), max_size=25)


@given(changes, st.lists(st.tuples(coordinates, st.none() | st.sampled_from(TEAMS), st.integers(0, 7)), max_size=8))
def test_content_goes_where_a_scan_of_all_rows_says(
    rows: list[tuple[int, tuple[Interest, tuple[int, int, str | None] | None] | None]],
    publications: list[tuple[int, str | None, int]],
) -> None:
    fib, table = Fib(), {}
    before: dict[int, Interest] = {}
    for vif, row in rows:
        if row is None:
            if vif in table:
                fib.apply(FibChange(vif, before.pop(vif), None))
                del table[vif]
        else:
            fib.apply(FibChange(vif, before.get(vif), row[0]))
            before[vif], table[vif] = row
    for x, team, incoming in publications:
        attributes: dict[str, Value] = {} if team is None else {"team": team}
        found = fib.lookup(Publication(1, 1, Point((x, 1.0, 1.0)), attributes), incoming)
        expected = {
            vif
            for vif, want in table.items()
            if vif != incoming and want is not None and want[0] <= x <= want[1] and want[2] in (None, team)
        }
        assert Counter(found) == Counter(Hop(vif, 0) for vif in expected)


def test_the_same_changes_give_the_same_order() -> None:
    def build() -> Fib:
        fib = Fib()
        for vif in (5, 3, 4, 0):
            fib.apply(FibChange(vif, None, EVERYTHING))
        fib.apply(FibChange(3, EVERYTHING, None))
        fib.apply(FibChange(3, None, EVERYTHING))
        return fib

    publication = Publication(1, 1, None)
    assert build().lookup(publication, 9) == build().lookup(publication, 9)
    assert {hop.vif for hop in build().lookup(publication, 5)} == {0, 3, 4}


# -- a toy network of tables -----------------------------------------------------------------------


@attrs.frozen
class Toy:
    """Routers that are nothing but forwarding tables; VIF numbers are the neighbours' names."""

    fibs: dict[int, Fib]

    def flood(
        self, at: int, incoming: int, publication: Publication, from_host: bool = True
    ) -> Counter[tuple[int, int]]:
        """Send a publication in at router `at` from its host; count (host, label) deliveries. Hosts: 100 + router."""
        delivered: Counter[tuple[int, int]] = Counter()
        waiting = [(at, incoming, publication, from_host)]
        hops = 0
        while waiting:
            router, from_vif, what, entering = waiting.pop()
            hops += 1
            assert hops < 100, "it goes round in circles"
            frame = PublicationFrame(encode_publication(what))
            for hop in self.fibs[router].lookup(frame, from_vif, entering):
                onward = PublicationFrame(frame.next_hop(hop.label)).publication()
                if hop.vif >= 100:
                    delivered[hop.vif, hop.label] += 1
                else:
                    waiting.append((hop.vif, router, onward, False))
        return delivered


#: Four routers in a ring, each with one host. A shared table of interests alone would send a publication round for
#: ever.
RING = {0: (1, 3), 1: (0, 2), 2: (1, 3), 3: (2, 0)}


def source_trees() -> Toy:
    """Per source (its label is its router's number + 1): the shortest-path tree over the ring."""
    #: The tree of the source at router r: r - r+1 - r+2, and r - r-1. (router -> next routers)
    fibs = {}
    for router, neighbours in RING.items():
        fib = Fib()
        for neighbour in neighbours:
            fib.apply(FibChange(neighbour, None, EVERYTHING))
        fib.apply(FibChange(100 + router, None, EVERYTHING))
        for source in RING:
            label = source + 1
            distance = (router - source) % 4
            onward = {0: {(source + 1) % 4, (source - 1) % 4}, 1: {(source + 2) % 4}, 2: set(), 3: set()}[distance]
            parent = {0: 100 + router, 1: source, 2: (source + 1) % 4, 3: source}[distance]
            fib.apply(ScopeChange(label, parent, None, frozenset(onward | {100 + router})))
            fib.apply(ScopeChange(label, None, None, frozenset()))  # from anywhere else: not on this source's tree
        fibs[router] = fib
    return Toy(fibs)


def test_a_source_tree_reaches_everybody_once_on_a_ring() -> None:
    toy = source_trees()
    for source in RING:
        publication = Publication(source, 1, None, label=source + 1)
        delivered = toy.flood(source, 100 + source, publication)
        others = {100 + router for router in RING if router != source}
        assert delivered == Counter({(host, source + 1): 1 for host in others})


def test_two_sources_use_different_links_of_the_ring() -> None:
    toy = source_trees()
    at_two = {hop.vif for hop in toy.fibs[1].lookup(Publication(1, 1, None, label=1), 0)}
    other = {hop.vif for hop in toy.fibs[1].lookup(Publication(1, 1, None, label=4), 0)}
    assert at_two == {2, 101}, "the tree of router 0 goes on over 1 to 2"
    assert other == {101}, "the tree of router 3 ends at 1"


def test_off_its_tree_a_label_goes_nowhere() -> None:
    toy = source_trees()
    assert toy.fibs[2].lookup(Publication(1, 1, None, label=1), 3) == []


def test_a_source_tree_is_pruned_by_content() -> None:
    toy = source_trees()
    for router, fib in toy.fibs.items():
        want = Interest.of(Box((router * 10, 0, 0), (router * 10 + 5, 5, 5)))
        fib.apply(FibChange(100 + router, EVERYTHING, want))
    delivered = toy.flood(0, 100, Publication(1, 1, Point((21.0, 1.0, 1.0)), label=1))
    assert delivered == Counter({(102, 1): 1})


def test_a_removed_scope_lifts_the_restriction() -> None:
    fib = Fib()
    for vif in (2, 3):
        fib.apply(FibChange(vif, None, EVERYTHING))
    fib.apply(ScopeChange(7, None, None, frozenset({3})))
    publication = Publication(1, 1, None, label=7)
    assert fib.lookup(publication, 4) == [Hop(3, 7)]
    fib.apply(ScopeChange(7, None, frozenset({3}), None))
    assert {hop.vif for hop in fib.lookup(publication, 4)} == {2, 3}


def test_the_row_for_the_incoming_vif_goes_before_the_row_for_any() -> None:
    fib = Fib()
    for vif in (2, 3):
        fib.apply(FibChange(vif, None, EVERYTHING))
    fib.apply(ScopeChange(7, None, None, frozenset({2, 3})))
    fib.apply(ScopeChange(7, 4, None, frozenset({2})))
    publication = Publication(1, 1, None, label=7)
    assert fib.lookup(publication, 4) == [Hop(2, 7)]
    assert {hop.vif for hop in fib.lookup(publication, 5)} == {2, 3}


# -- channels --------------------------------------------------------------------------------------


def channels() -> Toy:
    """A chain of brokers 0 - 1 - 2. Channel 1 is x in 0..10, on the tree 0 - 1; channel 2 is x in 5..15, on 0 - 1 - 2.

    Brokers between look at labels only (their interest rows are everything); the gateways filter towards hosts exactly.
    """
    fibs = {router: Fib() for router in (0, 1, 2)}
    wanted = {
        0: Interest.of(Box((100, 0, 0), (101, 5, 5))),
        1: Interest.of(Box((0, 0, 0), (10, 5, 5))),
        2: Interest.of(Box((5, 0, 0), (15, 5, 5))),
    }
    scopes = {0: {1: {1}, 2: {1}}, 1: {1: {101}, 2: {2}}, 2: {1: set(), 2: {102}}}
    for router, fib in fibs.items():
        for neighbour in (router - 1, router + 1):
            if neighbour in fibs:
                fib.apply(FibChange(neighbour, None, EVERYTHING))
        fib.apply(FibChange(100 + router, None, wanted[router]))
        for label, vifs in scopes[router].items():
            fib.apply(ScopeChange(label, None, None, frozenset(vifs)))
        fib.apply(ChannelChange(1, None, Interest.of(Box((0, 0, 0), (10, 5, 5)))))
        fib.apply(ChannelChange(2, None, Interest.of(Box((5, 0, 0), (15, 5, 5)))))
    return Toy(fibs)


def at(x: float, label: int = 0) -> Publication:
    return Publication(1, 1, Point((x, 1.0, 1.0)), label=label)


def test_a_publication_of_a_host_takes_the_labels_of_its_channels() -> None:
    fib = channels().fibs[0]
    assert set(fib.lookup(at(2), 100, from_host=True)) == {Hop(1, 1)}
    assert set(fib.lookup(at(12), 100, from_host=True)) == {Hop(1, 2)}
    assert set(fib.lookup(at(7), 100, from_host=True)) == {Hop(1, 1), Hop(1, 2)}, "in two channels: once for each"
    assert fib.lookup(at(50), 100, from_host=True) == [], "in no channel: nobody can want it"


def test_on_the_way_the_label_counts_and_the_content_does_not() -> None:
    fib = channels().fibs[1]
    assert set(fib.lookup(at(7, label=2), 0)) == {Hop(2, 2)}, "not classified again: it is not from a host"


def test_channels_deliver_what_is_wanted_once() -> None:
    toy = channels()
    for x, hosts in ((2, {(101, 1)}), (7, {(101, 1), (102, 2)}), (12, {(102, 2)}), (50, set())):
        assert toy.flood(0, 100, at(x)) == Counter(dict.fromkeys(hosts, 1)), x


def test_a_channel_that_changes_and_ends() -> None:
    fib = channels().fibs[0]
    far = Interest.of(Box((50, 0, 0), (60, 5, 5)))
    fib.apply(ChannelChange(1, Interest.of(Box((0, 0, 0), (10, 5, 5))), far))
    assert set(fib.lookup(at(7), 100, from_host=True)) == {Hop(1, 2)}
    assert set(fib.lookup(at(55), 100, from_host=True)) == {Hop(1, 1)}
    fib.apply(ChannelChange(1, far, None))
    assert fib.lookup(at(55), 100, from_host=True) == []


def test_without_channels_a_host_keeps_its_label() -> None:
    fib = Fib()
    fib.apply(FibChange(2, None, EVERYTHING))
    assert fib.lookup(at(1, label=9), 3, from_host=True) == [Hop(2, 9)]
