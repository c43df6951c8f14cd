"""Calls each operation of a collection with the client that is made of a project's document: `project_calls.py URL KEY`."""

import sys
from datetime import UTC, datetime

from made_client import AuthenticatedClient
from made_client.api.gen_books import (
    create_gen_books,
    delete_gen_books,
    get_gen_books,
    list_gen_books,
    query_gen_books,
    replace_gen_books,
    update_gen_books,
    upsert_gen_books,
)
from made_client.models import (
    CreateGenBooksBody,
    GenBooksChange,
    GenBooksChangeData,
    GenBooksDocument,
    GenBooksFilters,
    GenBooksPage,
    GenBooksWhere,
    NewGenBooks,
    QueryGenBooksBody,
    ReplaceGenBooksBody,
    UpsertGenBooksBody,
    UpsertGenBooksBy,
)

URL, API_KEY = sys.argv[1:]
client = AuthenticatedClient(URL, API_KEY, prefix="", auth_header_name="x-api-key")

made = create_gen_books.sync(client=client, body=CreateGenBooksBody(NewGenBooks("a", stock=1, in_print=True)))
assert isinstance(made, GenBooksDocument), made
assert made.data.isbn == "a"
assert isinstance(made.created_at, datetime)
found = get_gen_books.sync(made.id, client=client)
assert isinstance(found, GenBooksDocument), found
filters = GenBooksFilters(stock_gte=1, in_print_eq=True, isbn_in="a,b", created_at_gt=datetime(2026, 1, 1, tzinfo=UTC))
listed = list_gen_books.sync(client=client, filters=filters)
assert isinstance(listed, GenBooksPage), listed
assert [each.data.stock for each in listed.documents] == [1]
body = QueryGenBooksBody(where=GenBooksWhere(stock_gte=1, or_=[GenBooksWhere(isbn_eq="a"), GenBooksWhere(isbn_eq="b")]))
queried = query_gen_books.sync(client=client, body=body)
assert isinstance(queried, GenBooksPage), queried
assert queried.total == 1
change = GenBooksChange(GenBooksChangeData(price=1.5), where=GenBooksWhere(stock_eq=1))
changed = update_gen_books.sync(made.id, client=client, body=change)
assert isinstance(changed, GenBooksDocument), changed
assert changed.data.price == 1.5
upserted = upsert_gen_books.sync(
    client=client, by=UpsertGenBooksBy.ISBN, body=UpsertGenBooksBody(NewGenBooks("a", stock=3))
)
assert isinstance(upserted, GenBooksDocument), upserted
assert (upserted.id, upserted.data.stock) == (made.id, 3)
replaced = replace_gen_books.sync(made.id, client=client, body=ReplaceGenBooksBody(NewGenBooks("c")))
assert isinstance(replaced, GenBooksDocument), replaced
assert replaced.data.stock == 0
assert delete_gen_books.sync_detailed(made.id, client=client).status_code == 204
