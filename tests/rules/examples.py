"""The twelve examples of docs/access.md: the schemas they are about, and the rules."""

from typing import Any

REFERENCE_TO_USER = {"type": "reference", "collection": "users"}
TEXT = {"type": "string"}
OWNER: dict[str, Any] = {"set": "$user.id", "write": "create"}

SCHEMAS: dict[str, dict[str, Any]] = {
    "notes": {"owner_id": REFERENCE_TO_USER, "text": TEXT},
    "posts": {"title": TEXT, "status": TEXT, "author_id": REFERENCE_TO_USER},
    "articles": {"title": TEXT, "status": TEXT, "author_id": REFERENCE_TO_USER},
    "comments": {"text": TEXT, "author_id": REFERENCE_TO_USER, "post_id": {"type": "reference", "collection": "posts"}},
    "tasks": {"title": TEXT, "team_id": TEXT},
    "memberships": {"team_id": TEXT, "user_id": REFERENCE_TO_USER, "role": TEXT},
    "messages": {"text": TEXT, "room_id": TEXT, "author_id": REFERENCE_TO_USER},
    "rooms": {"room_id": TEXT, "user_id": REFERENCE_TO_USER},
    "direct": {"text": TEXT, "participants": {"type": "array", "items": TEXT}},
    "listings": {
        "title": TEXT,
        "active": {"type": "boolean"},
        "seller_id": REFERENCE_TO_USER,
        "reserve_price": {"type": "number"},
        "rating": {"type": "number"},
    },
    "orders": {
        "buyer_id": REFERENCE_TO_USER,
        "seller_id": REFERENCE_TO_USER,
        "status": TEXT,
        "total": {"type": "number"},
    },
    "reports": {"text": TEXT},
    "blocks": {"user_id": REFERENCE_TO_USER, "blocked_id": TEXT},
}
MINE = {"user_id_eq": "$user.id"}
SETS: dict[str, Any] = {
    "my_teams": {"from": "memberships", "where": MINE, "take": "team_id"},
    "admin_of": {"from": "memberships", "where": {**MINE, "role_eq": "admin"}, "take": "team_id"},
    "my_rooms": {"from": "rooms", "where": MINE, "take": "room_id"},
    "blocked": {"from": "blocks", "where": MINE, "take": "blocked_id"},
}
OWNED = {"owner_id_eq": "$user.id"}
EDITOR = {"$user.roles_eq": "editor"}
IN_MY_TEAMS = {"team_id_in": "$sets.my_teams"}
IN_MY_ROOMS = {"room_id_in": "$sets.my_rooms"}
SELLER, BUYER = {"seller_id_eq": "$user.id"}, {"buyer_id_eq": "$user.id"}
COLLECTIONS: dict[str, Any] = {
    "notes": {"read": OWNED, "create": "users", "update": OWNED, "delete": OWNED, "fields": {"owner_id": OWNER}},
    "posts": {
        "read": {
            "or": [{"status_eq": "published"}, {"author_id_eq": "$user.id"}, EDITOR],
            "not": {"author_id_in": "$sets.blocked"},
        },
    },
    "articles": {
        "read": {"or": [{"author_id_eq": "$user.id"}, EDITOR]},
        "update": [
            {
                "before": {"author_id_eq": "$user.id", "status_eq": "draft"},
                "after": {"author_id_eq": "$user.id", "status_in": ["draft", "submitted"]},
            },
            {"before": EDITOR, "after": {"status_in": ["submitted", "published"]}},
        ],
    },
    "comments": {
        "read": {"post.$can": "read"},
        "create": {"post.$can": "read"},
        "fields": {"author_id": OWNER},
    },
    "tasks": {"read": IN_MY_TEAMS, "create": IN_MY_TEAMS, "update": IN_MY_TEAMS},
    "memberships": {
        "read": IN_MY_TEAMS,
        "create": {"team_id_in": "$sets.admin_of", "role_in": ["member", "guest"]},
        "delete": {"or": [{"team_id_in": "$sets.admin_of"}, MINE]},
    },
    "messages": {
        "read": IN_MY_ROOMS,
        "create": IN_MY_ROOMS,
        "update": {"author_id_eq": "$user.id", "created_at_gt": "$now-15m"},
        "fields": {"author_id": OWNER, "room_id": {"write": "create"}},
    },
    "direct": {"read": {"participants_eq": "$user.id"}, "create": {"participants_eq": "$user.id"}},
    "listings": {
        "read": {"or": [{"active_eq": True}, SELLER]},
        "fields": {"reserve_price": {"read": SELLER}, "rating": {"write": "server"}},
    },
    "orders": {
        "read": {"or": [BUYER, SELLER]},
        "update": [
            {"before": {**SELLER, "status_eq": "paid"}, "after": {"status_eq": "shipped"}},
            {"before": {**BUYER, "status_eq": "open"}, "after": {"status_eq": "cancelled"}},
        ],
        "fields": {"total": {"write": "server"}, "buyer_id": OWNER, "seller_id": {"write": "create"}},
    },
    "reports": {"create": "users", "read": {"$user.roles_eq": "moderator"}},
}
USERS: dict[str, Any] = {
    "read": "users",
    "fields": {
        "email": {"read": {"id_eq": "$user.id"}},
        "data.name": {"read": "users"},
        "data.plan": {"write": "server"},
    },
}
ASSIGN: dict[str, Any] = {"moderator": {"$user.roles_eq": "admin"}}
RULES: dict[str, Any] = {"sets": SETS, "users": USERS, "assign": ASSIGN, "collections": COLLECTIONS}
