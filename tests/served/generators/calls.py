"""Calls the client that openapi-python-client makes: `calls.py URL API_KEY`. Types are checked with it."""

import sys

from made_client import AuthenticatedClient
from made_client.api.accounts import login, read_profile, signup
from made_client.api.collections import create_collection
from made_client.api.documents import create_document, list_documents
from made_client.api.users import list_users
from made_client.models import (
    Collection,
    DocumentForm,
    DocumentFormData,
    DocumentList,
    FieldDefinition,
    FieldDefinitionType,
    Login,
    NewCollection,
    NewCollectionSchema,
    Profile,
    SignedIn,
    Signup,
    UserList,
    WrittenDocument,
)
from made_client.types import Unset

URL, API_KEY = sys.argv[1:]
EMAIL, PASSWORD = "generated-python@example.com", "correct horse"
client = AuthenticatedClient(URL, API_KEY, prefix="", auth_header_name="x-api-key")

body = Signup(EMAIL, PASSWORD)
body["name"] = "Ann"
signed_up = signup.sync(client=client, body=body)
assert isinstance(signed_up, SignedIn), signed_up
logged_in = login.sync(client=client, body=Login(PASSWORD, email=EMAIL))
assert isinstance(logged_in, SignedIn), logged_in
profile = read_profile.sync(client=AuthenticatedClient(URL, logged_in.access_token))
assert isinstance(profile, Profile), profile
assert profile.data["name"] == "Ann"
users = list_users.sync(client=client, limit=1_000)
assert isinstance(users, UserList), users
assert EMAIL in [user.email for user in users.users]

schema = NewCollectionSchema()
schema["tags"] = FieldDefinition(FieldDefinitionType.ARRAY, items=FieldDefinition(FieldDefinitionType.STRING))
collection = create_collection.sync(client=client, body=NewCollection("generated-python", schema))
assert isinstance(collection, Collection), collection
data = DocumentFormData()
data["tags"] = ["one", "two"]
document = create_document.sync("generated-python", client=client, body=DocumentForm(data))
assert isinstance(document, WrittenDocument), document
# A caller that writes by a rule may be unable to read.
assert not isinstance(document.data, Unset)
assert document.data["tags"] == ["one", "two"]
documents = list_documents.sync("generated-python", client=client)
assert isinstance(documents, DocumentList), documents
assert documents.total == 1
