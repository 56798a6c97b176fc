"""What listens to a run: a capture holds the very bytes of a link, the trace all events with their fates."""

from __future__ import annotations

import struct
from collections import Counter
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import sim
from cbsmrp.wire import Codec, PublicationFrame
from sim.runs.event_trace import SCHEMA
from sim.runs.pcap import PORT, checksum, datagram
from sim.runs.play import Play
from sim.scenario.scenario import from_mapping

SMALL = from_mapping({"preset": "small", "hosts": 10, "seconds": 1, "areas": {"move_rate": 2}, "link": {"loss": 0.05}})


def parse(data: bytes):
    """The packets of a classic pcap file as Wireshark reads them: (time, source, destination, payload)."""
    magic, major, minor, zone, _, snap, kind = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, zone, snap, kind) == (0xA1B2C3D4, 2, 4, 0, 65535, 101)
    at, packets = 24, []
    while at < len(data):
        seconds, micros, kept, length = struct.unpack_from("<IIII", data, at)
        assert kept == length and micros < 1_000_000
        packet = data[at + 16 : at + 16 + length]
        packets.append((seconds + micros / 1e6, *unpack(packet)))
        at += 16 + length
    assert at == len(data)
    return packets


def unpack(packet: bytes):
    version, _, total, _, flags, _, protocol = struct.unpack_from("!BBHHHBB", packet)
    assert (version, total, flags, protocol) == (0x45, len(packet), 0x4000, 17)
    assert checksum(packet[:20]) == 0  # the sum over a header with its checksum
    source, destination, length = *struct.unpack_from("!HH", packet, 20), struct.unpack_from("!H", packet, 24)[0]
    assert (source, destination, length) == (PORT, PORT, len(packet) - 20)
    pseudo = packet[12:20] + struct.pack("!BBH", 0, 17, length)
    assert checksum(pseudo + packet[20:]) == 0
    return IPv4Address(packet[12:16]), IPv4Address(packet[16:20]), packet[28:]


@given(st.binary(max_size=1500))
def test_datagrams_are_whole(data):
    found = unpack(datagram(data, IPv4Address("10.0.0.1"), IPv4Address("10.1.0.9")))
    assert found == (IPv4Address("10.0.0.1"), IPv4Address("10.1.0.9"), data)


def test_a_known_checksum():
    """The example of RFC 1071, section 3."""
    assert checksum(bytes((0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7))) == ~0xDDF2 & 0xFFFF


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    """One run, with everything listening: (results, packets, events)."""
    place = tmp_path_factory.mktemp("heard")
    results = sim.run(SMALL, 4, trace=place / "trace.parquet", pcap=("R0", "R1", place / "link.pcap"))
    table = parquet.read_table(place / "trace.parquet")
    assert table.schema.equals(SCHEMA)
    return results, parse((place / "link.pcap").read_bytes()), table.to_pylist()


def test_listening_changes_nothing(heard):
    assert sim.run(SMALL, 4) == heard[0]


def test_the_capture_is_what_crossed_the_link(heard):
    results, packets, events = heard
    names = {address: name for name, address in Play(SMALL, 4).addresses("R0", "R1").items()}
    assert {packet[1] for packet in packets} == set(names) == {packet[2] for packet in packets}
    codec = Codec(1400)
    found, times = Counter(), []
    for time, source, destination, payload in packets:
        times.append(time)
        for frame in codec.decode(payload):
            kind = "publication" if isinstance(frame, PublicationFrame) else type(frame).__name__.lower()
            found[names[source], names[destination], kind] += 1
    sent = Counter(
        (row["node"], row["peer"], row["kind"])
        for row in events
        if row["decision"] in ("sent", "lost") and {row["node"], row["peer"]} == {"R0", "R1"}
    )
    assert found == sent and times == sorted(times)
    ours = {(r["source"], r["destination"]): r["packets"] for r in results.links}
    assert found["R0", "R1", "publication"] == ours["R0", "R1"] > 0


def test_events_have_their_fates(heard):
    results, _, events = heard
    row = results.row
    assert [each["time"] for each in events] == sorted(each["time"] for each in events)
    fates = Counter((each["kind"], each["decision"]) for each in events)
    assert fates["publication", "delivered"] == row["delivered"]
    assert not {key for key in fates if key[1] in ("unwanted", "duplicate", "own")}
    assert fates["publication", "forwarded"] > 0 < fates["publication", "filtered"]
    assert fates["publication", "sent"] == sum(link["packets"] for link in results.links)
    assert fates["update", "lost"] > 0 < fates["update", "handled"]
    assert sum(n for (kind, fate), n in fates.items() if fate == "sent") == sum(
        n for (kind, fate), n in fates.items() if fate not in ("sent", "lost")
    )  # all that is sent and not lost reaches somebody


def test_events_tell_the_way_of_a_publication(heard):
    """From its host up and down to the hosts that want it; every router on the way got it once and passed it on."""
    _, _, events = heard
    ways: dict[tuple[int, int], list[dict]] = {}
    for each in events:
        if each["kind"] == "publication":
            ways.setdefault((each["source"], each["sequence"]), []).append(each)
    assert len(ways) == 100  # ten hosts, ten times a second
    for way in ways.values():
        assert way[0]["decision"] == "sent" and way[0]["node"].startswith("h")
        assert len({tuple(each["extent"]) for each in way}) == 1 and len({each["bytes"] for each in way}) == 1
        reached = [each["node"] for each in way if each["decision"] not in ("sent", "lost")]
        assert len(reached) == len(set(reached))
        senders = {each["node"] for each in way if each["decision"] == "sent"} - {way[0]["node"]}
        assert senders == {each["node"] for each in way if each["decision"] == "forwarded"}
        assert all(each["vif"] is not None for each in way)
