"""Running the ASGI application under uvicorn. Everything that depends on uvicorn's own parts is here."""
