"""The ways in which somebody can sign in to an account: a password, an identity at a provider, a passkey.

A mail is none of them: SP 800-63B-4 section 3.1.3.1. Pure.
"""

from service.storage.client import Document

# As `is_hash` of passwords knows one: what is none matches no password.
HASH = r"^\$(?:2|argon2id\$)"
ANY: Document = {}


def another_way(*, identity: Document = ANY, passkey: Document = ANY) -> Document:
    """What holds of a record that has a way left when the element `identity`, or `passkey`, is gone.

    It belongs into the filter of the command that removes the element, so that of two who remove at once one is refused.
    """
    return {
        "$or": [
            {"password": {"$regex": HASH}},
            {"identities": _one_more(identity)},
            {"passkeys": _one_more(passkey)},
        ]
    }


def _one_more(element: Document) -> Document:
    """An array with an element that is another one; with any, where that stands in another array."""
    return {"$elemMatch": {"$nor": [element]}} if element else {"$exists": True, "$ne": []}
