"""What whoever asks for a mail is answered, and what the document says of it."""

from typing_extensions import TypedDict

from service.domain.flows.purposes import Ticket
from service.web.openapi import shapes
from service.web.openapi.declaration import Content, SuccessResponse
from service.web.openapi.shapes import Time

EXAMPLE_FLOW = "4bS9uQmXk1dW0p2RzV7nYA"


class FlowView(TypedDict):
    flow_id: str
    expires_at: Time


FLOW = SuccessResponse(
    status=202,
    description="What the code of the mail is good with",
    content=(
        Content(
            type=FlowView,
            examples={"a flow": {"flow_id": EXAMPLE_FLOW, "expires_at": shapes.EXAMPLE_TIME}},
        ),
    ),
)


def ticket_view(ticket: Ticket) -> FlowView:
    """The same for everybody, whether or not somebody was mailed."""
    return {"flow_id": ticket.flow_id, "expires_at": ticket.expires_at}
