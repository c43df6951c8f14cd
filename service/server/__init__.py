"""Running the ASGI application under uvicorn. Everything that leans on uvicorn's own parts stands here."""
