"""Makes a router known to twistd: `twistd -n cbsmrp --config FILE`."""

from twisted.application.service import ServiceMaker

cbsmrp = ServiceMaker("CBSMRP router", "cbsmrp.service", "Run an active router of the CBSMRP overlay.", "cbsmrp")
