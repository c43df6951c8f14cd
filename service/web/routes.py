"""Every URL of the service, on one page."""

from starlette.routing import BaseRoute, Route

from service.web import operations, users

ROUTES: list[BaseRoute] = [
    Route("/auth-collections/signup", users.signup, methods=["POST"]),
    Route("/auth-collections/login", users.login, methods=["POST"]),
    Route("/auth-collections/user", users.profile, methods=["GET"]),
    Route("/auth-collections/user", users.update_profile, methods=["PUT"]),
    Route("/auth-collections/users", users.list_users, methods=["GET"]),
    Route("/auth-collections/jwks/{project_id}", users.jwks, methods=["GET"]),
    Route("/health/live", operations.live, methods=["GET"]),
    Route("/health/ready", operations.ready, methods=["GET"]),
]
