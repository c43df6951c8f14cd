"""The answer to a request for a mail, and its description in the OpenAPI document."""

import math
from datetime import datetime
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from service.domain.mail_flows.purposes import Ticket
from service.schema.values import now
from service.web.openapi.declaration import Success

EXAMPLE_FLOW = "4bS9uQmXk1dW0p2RzV7nYA"


class FlowView(TypedDict):
    flow_id: str
    expires_in: Annotated[int, Field(description="The seconds for which the code and the link are good")]


FLOW = Success("What the code of the mail is good with", {"a flow": {"flow_id": EXAMPLE_FLOW, "expires_in": 3600}})


def ticket_view(ticket: Ticket) -> FlowView:
    """The same for every address, mailed or not."""
    return flow_view(ticket.flow_id, ticket.expires_at)


def flow_view(flow_id: str, expires_at: datetime) -> FlowView:
    """Counts the seconds that are left, rounded up."""
    return {"flow_id": flow_id, "expires_in": max(0, math.ceil((expires_at - now()).total_seconds()))}
