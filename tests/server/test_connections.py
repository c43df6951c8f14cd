"""THREATS row N23: how many connections there may be, of one address and in all, and which one goes."""

import asyncio
import json
from ipaddress import ip_network
from pathlib import Path

from faults.processes import running_service
from faults.wire import Connection
from service.bounds import MAX_ADDRESS_CONNECTIONS
from service.server.connections import ConnectionRegister

OURS = "192.0.2.1"
FILES = 320


class Client:
    """A connection that says whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    def close_idle(self) -> None:
        self.closed = True


def test_n23_one_address_has_so_many_connections_and_no_more() -> None:
    register = ConnectionRegister(10_000)
    clients = [Client() for _ in range(MAX_ADDRESS_CONNECTIONS)]
    assert all(register.admit(client, OURS) for client in clients)
    assert not register.admit(Client(), OURS)
    assert register.admit(Client(), "192.0.2.2")
    register.forget(clients[0])
    register.forget(clients[0])
    assert register.admit(Client(), OURS)
    assert not register.admit(Client(), OURS)


def test_n23_the_addresses_of_one_network_of_ipv6_are_one() -> None:
    register = ConnectionRegister(10_000)
    assert all(register.admit(Client(), f"2001:db8::{n:x}") for n in range(MAX_ADDRESS_CONNECTIONS))
    assert not register.admit(Client(), "2001:db8::ffff")


def test_n23_a_trusted_proxy_has_as_many_as_it_needs() -> None:
    register = ConnectionRegister(10_000, [ip_network("192.0.2.0/24")])
    assert all(register.admit(Client(), OURS) for _ in range(2 * MAX_ADDRESS_CONNECTIONS))


def test_n23_the_longest_idle_connection_goes_for_a_new_one() -> None:
    register = ConnectionRegister(3)
    first, _, third, fourth, fifth = clients = [Client() for _ in range(5)]
    for client in clients[:3]:
        register.admit(client, OURS)
    register.mark_busy(first)
    assert register.admit(fourth, OURS)
    register.mark_idle(third)
    register.mark_busy(third)
    register.mark_idle(third)
    assert register.admit(fifth, OURS)
    assert [client.closed for client in clients] == [False, True, False, True, False]
    for client in (first, third, fifth):
        register.mark_busy(client)
    assert not register.admit(Client(), OURS)


async def test_n23_a_new_client_is_served_beside_more_idle_ones_than_files(mongodb_uri: str, tmp_path: Path) -> None:
    with running_service(mongodb_uri, tmp_path, files=str(FILES), DATABASE_PREFIX="f_idle_") as service:
        opened = [
            await asyncio.open_connection("127.0.0.1", service.port, local_addr=(f"127.0.2.{n % 5}", 0))
            for n in range(2 * FILES)
        ]
        client = Connection(service.port)
        assert (await client.request("GET", "/health/ready", headers={}))[0] == 200
        # It is not among the longest idle ones, so it stays.
        assert (await client.request("GET", "/health/ready", headers={}))[0] == 200
        client.close()
        for _, writer in opened:
            writer.close()
        assert "Too many open files" not in service.log.read_text()


async def test_n23_an_address_with_too_many_connections_is_told(mongodb_uri: str, tmp_path: Path) -> None:
    with running_service(mongodb_uri, tmp_path, DATABASE_PREFIX="f_idle_") as service:
        opened = [
            await asyncio.open_connection("127.0.0.1", service.port, local_addr=("127.0.3.1", 0))
            for _ in range(MAX_ADDRESS_CONNECTIONS)
        ]
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port, local_addr=("127.0.3.1", 0))
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in head
        assert json.loads(body)["code"] == "busy"
        for each in (writer, *(one for _, one in opened)):
            each.close()
