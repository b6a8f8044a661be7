"""Without network a command reaches nobody; sockets of services that obey it are out of reach in any case."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.sandbox.place import Place


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a TCP server on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        yield receiver


@pytest.mark.parametrize("network", [True, False], ids=["network", "no network"])
async def test_tcp_goes_where_the_network_is_on(network: bool, place: Place, listener: int) -> None:
    done = await place.run(
        f"exec 3<>/dev/tcp/127.0.0.1/{listener} && echo reached", sandbox=place.sandbox(network=network)
    )
    assert ("reached" in done.output) is network
    assert (done.exit_code == 0) is network


async def test_udp_goes_nowhere_without_network(strong_place: Place, receiver: socket.socket) -> None:
    await strong_place.run(f"echo x > /dev/udp/127.0.0.1/{receiver.getsockname()[1]}")
    with pytest.raises(BlockingIOError):
        receiver.recv(1)


async def test_loopback_of_its_own_works_without_network(strong_place: Place, python: str) -> None:
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname()); print('reached')"
    )
    assert (await strong_place.run(f'{python} -c "{script}"')).output == "reached\n"


async def test_abstract_sockets_are_out_of_reach_without_network(place: Place, python: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0marvin-test-abstract")
        server.listen()
        script = "import socket; socket.socket(socket.AF_UNIX).connect('\\0marvin-test-abstract'); print('rea', 'ched')"
        done = await place.run(f'{python} -c "{script}"')
    assert "rea ched" not in done.output


@pytest.mark.parametrize("network", [True, False], ids=["network", "no network"])
@pytest.mark.parametrize("where", ["home/.docker/run/docker.sock", "agent/agent.sock"], ids=["Docker", "an agent"])
async def test_sockets_that_obey_whoever_connects_are_hidden(
    where: str, network: bool, strong_place: Place, python: str
) -> None:
    place = strong_place
    path = place.base / where
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect('{path}'); print('rea', 'ched')"
        done = await place.run(
            f'echo "agent: $SSH_AUTH_SOCK $OTHER"; {python} -c "{script}"',
            sandbox=place.sandbox(network=network),
            environ={"SSH_AUTH_SOCK": str(place.base / "agent/agent.sock"), "OTHER": f"unix:path={path},guid=1"},
        )
    assert "rea ched" not in done.output
    assert str(path) not in done.output.splitlines()[0]


async def test_the_sockets_of_services_and_desktops_are_not_there(strong_place: Place) -> None:
    done = await strong_place.run(
        "find /run /var/run/ /tmp /var/tmp /dev/shm -type s; ls -d /run/user /run/docker.sock"
    )
    assert not [line for line in done.output.splitlines() if line.startswith("/")]


async def test_a_failure_for_want_of_network_says_who_can_allow_it(place: Place, listener: int) -> None:
    command = f"exec 3<>/dev/tcp/127.0.0.1/{listener}"
    without = await place.run(command)
    assert without.output.splitlines()[-1].endswith(
        "and have no network. The person can allow more (settings sandbox_roots and sandbox_network) or go without "
        "(--sandbox off).]"
    )
    failed = await place.run("echo Connection refused; exit 1", sandbox=place.sandbox(network=True))
    assert failed.output == "Connection refused\n"


async def test_the_names_of_hosts_can_be_looked_up_with_network(strong_place: Place) -> None:
    if Path("/etc/resolv.conf").exists():
        done = await strong_place.run("cat /etc/resolv.conf > /dev/null", sandbox=strong_place.sandbox(network=True))
        assert done.exit_code == 0
