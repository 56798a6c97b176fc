"""Writes what crosses one link as a classic pcap file, so that Wireshark and tcpdump show the very bytes.

Used by `events.run`. The file format is libpcap's: a header of 24 bytes, then records of 16 bytes and a packet; link
type 101, raw IP. The simulated network has no IP, so headers of IPv4 and UDP are put around each datagram. Times are
those of the virtual clock, from 1970 on; what the link loses was sent, and is there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import BinaryIO

from cbsmrp.messages import Address
from sim.network import Sent

PORT = 9000
_FILE = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_IPV4 = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_MAGIC, _VERSION, _RAW, _LONGEST = 0xA1B2C3D4, (2, 4), 101, 65535
_DO_NOT_FRAGMENT, _TIME_TO_LIVE, _PROTOCOL_UDP = 0x4000, 64, 17


class Capture:
    """A listener for `Network.trace`; `addresses` are those of the link's two ends."""

    def __init__(self, file: BinaryIO, addresses: Mapping[Address, IPv4Address]) -> None:
        self._file = file
        self._addresses = addresses
        file.write(_FILE.pack(_MAGIC, *_VERSION, 0, 0, _LONGEST, _RAW))

    @staticmethod
    @contextmanager
    def open(path: str | Path, addresses: Mapping[Address, IPv4Address]) -> Iterator[Capture]:
        """A capture into a new file. Raises OSError."""
        with Path(path).open("wb") as file:
            yield Capture(file, addresses)

    def __call__(self, sent: Sent) -> None:
        source, destination = self._addresses.get(sent.source), self._addresses.get(sent.destination)
        if source is None or destination is None:
            return
        packet = datagram(sent.data, source, destination)
        microseconds = round(sent.time * 1_000_000)
        self._file.write(_RECORD.pack(*divmod(microseconds, 1_000_000), len(packet), len(packet)))
        self._file.write(packet)


def datagram(data: bytes, source: IPv4Address, destination: IPv4Address) -> bytes:
    """The bytes of a UDP datagram in an IPv4 packet, both with their checksums."""
    length = _UDP.size + len(data)
    addresses = source.packed + destination.packed
    pseudo = addresses + struct.pack("!BBH", 0, _PROTOCOL_UDP, length)
    udp = _UDP.pack(PORT, PORT, length, 0)
    # A sum of 0 would mean that there is none.
    udp = _UDP.pack(PORT, PORT, length, checksum(pseudo + udp + data) or 0xFFFF)
    ip = (0x45, 0, _IPV4.size + length, 0, _DO_NOT_FRAGMENT, _TIME_TO_LIVE, _PROTOCOL_UDP)
    head = _IPV4.pack(*ip, 0, source.packed, destination.packed)
    return _IPV4.pack(*ip, checksum(head), source.packed, destination.packed) + udp + data


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
