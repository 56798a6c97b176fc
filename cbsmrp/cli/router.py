"""`cbsmrp router`: one router process, from a TOML file, from options, or from both (options win)."""

from __future__ import annotations

import argparse
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred

from ..config import RouterConfig, load
from ..modes import MODES
from ..service import RouterService
from .output import json_line
from .running import run_reactor

DEFAULT_LISTEN = "127.0.0.1:9000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help=f"UDP address; port 0 is any free one (default {DEFAULT_LISTEN})"
    )
    parser.add_argument(
        "--upstream",
        action="append",
        metavar="HOST:PORT",
        help="router to join; repeat it to give others, in order of preference.\nWithout any this router is the core",
    )
    parser.add_argument("--mode", help=f"routing mode: {', '.join(sorted(MODES))} (default shared-tree)")
    parser.add_argument("--no-clipping", action="store_true", help="send everything up to the core")
    parser.add_argument("--config", metavar="FILE", help="TOML file; what is also given as an option is overridden")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="serve Prometheus metrics at http://HOST:PORT/metrics")
    parser.epilog = (
        'When it listens it prints one JSON line with "address". SIGINT and SIGTERM leave the tree and end it.'
    )


def configuration(args: argparse.Namespace) -> RouterConfig:
    """Raises `ConfigError`."""
    base = load(args.config) if args.config else RouterConfig(listen=DEFAULT_LISTEN)
    given = {"listen": args.listen, "mode": args.mode, "metrics": args.metrics}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if args.upstream:
        changes["upstreams"] = tuple(args.upstream)
    if args.no_clipping:
        changes["clipping"] = False
    return attrs.evolve(base, **changes)


def run(args: argparse.Namespace) -> int:
    config = configuration(args)

    async def main(reactor: Any) -> int:
        service = RouterService(reactor, config)
        service.startService()
        try:
            json_line(
                {
                    "address": service.driver.address,
                    "metrics": service.metrics_address,
                    "mode": config.mode,
                    "clipping": config.clipping,
                    "upstreams": list(config.upstreams),
                    "receive_buffer": service.driver.receive_buffer_granted,
                }
            )
            await Deferred()  # until a signal cancels it
        except CancelledError:
            pass
        finally:
            await maybeDeferred(service.stopService)
        return 0

    return run_reactor(main, interrupted=0)
