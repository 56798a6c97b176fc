"""A Twisted DatagramProtocol that forwards and does nothing else: what the plain loop of our own I/O library costs.

python -m bench.forward.twisted_forwarder IN_PORT OUT_PORT...
"""

import socket
import sys
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.protocol import DatagramProtocol


class Forward(DatagramProtocol):
    """Sends every datagram to all the ports."""

    def __init__(self, ports: list[int]) -> None:
        self.to = [("127.0.0.1", port) for port in ports]

    def datagramReceived(self, datagram: bytes, addr: object) -> None:
        """One datagram in."""
        assert self.transport is not None
        for to in self.to:
            self.transport.write(datagram, to)


def main(arguments: list[str]) -> int:
    """Forward until SIGTERM."""
    port, *outs = map(int, arguments)
    reactor: Any = installed  # a module that turns into an object when it is imported
    listening = reactor.listenUDP(port, Forward(outs), interface="127.0.0.1", maxPacketSize=8192)
    listening.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
    reactor.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
