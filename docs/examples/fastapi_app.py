"""A back end with FastAPI: it verifies the tokens of its users, and asks the service as the user of each request.

Begin it with URL, PROJECT and API_KEY in the environment: uvicorn fastapi_app:app
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from auth_collections_client import AsyncClient, AsyncTokenVerifier, ServiceError, TokenError
from auth_collections_client.asgi import bearer

service = AsyncClient(os.environ["URL"], os.environ["API_KEY"])
verifier = AsyncTokenVerifier(os.environ["URL"], os.environ["PROJECT"])


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with service, verifier:
        yield


app = FastAPI(lifespan=lifespan)


async def caller(request: Request) -> AsyncClient:
    """Returns a client that acts as the user of this request and no other."""
    token = bearer(request.headers)
    try:
        await verifier.verify(token or "")
    except TokenError as error:
        raise HTTPException(401, "Sign in first.", {"www-authenticate": "Bearer"}) from error
    return service.with_token(token or "")


Caller = Annotated[AsyncClient, Depends(caller)]


@app.exception_handler(ServiceError)
async def show_error(_: Request, error: ServiceError) -> JSONResponse:
    return JSONResponse({"detail": error.message, "code": error.code}, error.status or 502)


@app.get("/books")
async def list_books(asking: Caller) -> list[dict[str, Any]]:
    return [each.data async for each in asking.collection("books").each(sort_by="title")]


@app.post("/books")
async def create_book(asking: Caller, book: dict[str, Any]) -> dict[str, Any]:
    made = await asking.collection("books").create(book)
    return {"id": made.id, "data": made.data}
