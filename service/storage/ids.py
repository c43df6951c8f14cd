"""Record ids: the 24 hex digits of a new ObjectId, kept as text so that relation fields join without conversion."""

from bson import ObjectId


def new_id() -> str:
    return str(ObjectId())
