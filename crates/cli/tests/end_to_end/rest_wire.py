# What reaches REST without being a decent client's request. The server must refuse it, forget who is gone, and go on serving
# everybody else. The script stops with a traceback at the first wrong answer.
#
# The arguments: the server's port, and the password of the user `admin`.

import base64
import http.client
import socket
import ssl
import sys

port, password = int(sys.argv[1]), sys.argv[2]
login = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
CONNECTIONS_MAX = 64


def connect():
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60))


def ask(wire, method="GET", path="/api/cluster", body=None, headers={}):
    wire.request(method, path, body=body, headers={"Authorization": login, **headers})
    answer = wire.getresponse()
    answer.read()
    return answer.status


def new():
    return http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)


def status(text):
    """What is answered to a text that is no request of the library's; nothing where the connection is ended instead."""
    try:
        with connect() as wire:
            wire.sendall(text)
            answer = wire.recv(4096)
            return int(answer.split()[1]) if answer else None
    except (ssl.SSLError, ConnectionError):
        return None


# One connection serves many requests.
wire = new()
assert [ask(wire) for _ in range(100)] == [200] * 100

# As many as there may be, all of them served; the next one is closed, and there is room again when one ends.
# The first one counts, too.
open_ones = [wire] + [new() for _ in range(CONNECTIONS_MAX - 1)]
assert [ask(one) for one in open_ones] == [200] * CONNECTIONS_MAX
try:
    assert not ask(new()), "one too many was served"
except (ssl.SSLError, ConnectionError, http.client.HTTPException):
    pass
for one in open_ones[1:]:
    one.close()


def again():
    """The server learns of an end when it reads it, so the first ones after may still be refused."""
    while True:
        try:
            return ask(new())
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            continue


assert again() == 200

# Clients that vanish: before TLS, in the middle of a head, in the middle of a body, and before the answer.
head = f"POST /api/storage/volumes HTTP/1.1\r\nHost: x\r\nAuthorization: {login}\r\nContent-Length: 1000\r\n\r\n".encode()
for sent in [head[:20], head, head + b'{"name": "half', f"GET /api/storage/volumes HTTP/1.1\r\nHost: x\r\nAuthorization: {login}\r\n\r\n".encode()]:
    for _ in range(CONNECTIONS_MAX):
        try:
            with connect() as gone:
                gone.sendall(sent)
        except (ssl.SSLError, ConnectionError):
            continue
for _ in range(2 * CONNECTIONS_MAX):
    socket.create_connection(("127.0.0.1", port)).close()
assert again() == 200

# What is no HTTP, too long, or lies about its length.
assert status(b"\x16\x03\x01 no request\r\n\r\n") in (400, None)
assert status(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: " + b"y" * (128 << 10) + b"\r\n\r\n") in (431, 400, None)
assert status(b"GET /" + b"y" * (128 << 10) + b" HTTP/1.1\r\nHost: x\r\n\r\n") in (414, 431, 400, None)
assert status(head.replace(b"Content-Length: 1000", b"Content-Length: 99999999999999999999")) in (400, None)
assert status(head.replace(b"Content-Length: 1000", b"Content-Length: 5\r\nTransfer-Encoding: chunked") + b"0\r\n\r\n") in (400, None)
wire = new()
try:
    assert ask(wire, "POST", "/api/storage/volumes", b" " * (2 << 20)) == 413
except (ssl.SSLError, ConnectionError):
    pass  # It was closed while the rest was on its way; the answer may be lost with it.

# Names that are paths, and paths that are none of ours.
for path, expected in [
    ("/api/storage/volumes/..%2F..%2Fetc%2Fpasswd", 404),
    ("/api/../../etc/passwd", 404),
    ("/api/storage/volumes/%00", 404),
    ("/api/storage/volumes/%ff", 400),
    ("/api/storage/volumes?name=%", 400),
    ("/api/storage/volumes?fields=" + "a.{" * 20, 400),
]:
    answer = ask(new(), path=path)
    assert answer == expected, (path, answer)
