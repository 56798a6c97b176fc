"""The live overlay on Twisted: `connect` for clients, `router.RouterDriver` for routers."""

from .client import CannotConnect, Client, Ended, Event, Publisher, Refused, Subscription, connect

__all__ = ["CannotConnect", "Client", "Ended", "Event", "Publisher", "Refused", "Subscription", "connect"]
