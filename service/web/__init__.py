"""HTTP. The only package, with app.py, that imports starlette. Handlers read, call one domain function, and render."""
