"""The keys of a request's state that the log of requests reads."""

CALLER = "caller"
API_KEY = "api key"
CODE = "code"
