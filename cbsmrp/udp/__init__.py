"""The live overlay on Twisted: `connect` for clients, `router.RouterDriver` for routers."""

from .client import CannotConnect, Client, Event, Publisher, connect
from .subscription import Ended, Refused, Subscription

__all__ = ["CannotConnect", "Client", "Ended", "Event", "Publisher", "Refused", "Subscription", "connect"]
