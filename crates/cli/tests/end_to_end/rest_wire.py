# What reaches REST without being a decent client's request. The server must refuse it, forget who
# is gone, and go on serving everybody else: a LUN is read over NBD all the time, and after each
# kind of misuse the reads must go on. The script stops with a traceback at the first wrong answer.
# How long slow clients have is tested in virtual time beside the code
# (crates/api/src/connection/tests.rs).
#
# It stands behind nbd_client.py. The arguments: the server's port, the password of the user
# `admin`, the NBD socket, and the export.

import base64
import http.client
import json
import socket
import ssl
import sys

port, password, path, export = int(sys.argv[1]), *sys.argv[2:]
login = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
CONNECTIONS_MAX = 64
reader = Reader(path, export, 4)


def connect():
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60))


def answer_to(wire, method="GET", path="/api/cluster", body=None, headers={}):
    wire.request(method, path, body=body, headers={"Authorization": login, **headers})
    answer = wire.getresponse()
    return answer, answer.read().decode()


def ask(wire, *arguments, **named):
    return answer_to(wire, *arguments, **named)[0].status


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

# As many as there may be, all of them served; the next one is told that there is no room and
# closed, whatever it asks, and there is room again when one ends. The first one counts, too.
open_ones = [wire] + [new() for _ in range(CONNECTIONS_MAX - 1)]
assert [ask(one) for one in open_ones] == [200] * CONNECTIONS_MAX
for method, body in [("GET", None), ("PATCH", b'{"name": "half"}' * 10000)]:
    answer, text = answer_to(new(), method, body=body)
    assert (answer.status, answer.headers["Retry-After"], answer.headers["Connection"]) == (503, "1", "close")
    assert "the server has its 64 REST connections" in json.loads(text)["error"]["message"], text
for one in open_ones[1:]:
    one.close()


def again():
    """A connection that is served. The server learns of an end when it reads it, so the first ones after may still be refused."""
    while True:
        try:
            wire = new()
            code = ask(wire)
            assert code in (200, 503), code
            if code == 200:
                return wire
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            continue


again().close()

# Clients that vanish: before TLS, in the middle of a head, in the middle of a body, and before the
# answer.
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
again().close()
reader.goes_on()

# Slow ones: all places but one are held by clients that began something and do not go on. Whoever
# has the last one is served as ever, and so are the hosts.
wire.close()
half_done = [head[:20], head, head + b'{"name": "ha']
held = []
while len(held) < CONNECTIONS_MAX - 1:
    try:
        if len(held) % 4 == 3:
            held.append(socket.create_connection(("127.0.0.1", port)))
            held[-1].sendall(b"\x16\x03\x01")
        else:
            held.append(connect())
            held[-1].sendall(half_done[len(held) % 3])
    except (ssl.SSLError, ConnectionError):
        continue  # The places of those before are not all free yet.
last = again()
assert [ask(last) for _ in range(20)] == [200] * 20
reader.goes_on()
assert ask(last) == 200
for one in held:
    one.close()
last.close()
again().close()

# Filters as curl sends them.
line = "GET /api/storage/volumes?space.size=>=1&name=\"vol1\"|x HTTP/1.1"
assert status(f"{line}\r\nHost: x\r\nAuthorization: {login}\r\n\r\n".encode()) == 200

# What is no HTTP, too long, or lies about its length.
assert status(b"\x16\x03\x01 no request\r\n\r\n") in (400, None)
assert status(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: " + b"y" * (128 << 10) + b"\r\n\r\n") in (431, 400, None)
assert status(b"GET /" + b"y" * (128 << 10) + b" HTTP/1.1\r\nHost: x\r\n\r\n") in (414, 431, 400, None)
assert status(head.replace(b"Content-Length: 1000", b"Content-Length: 99999999999999999999")) in (400, None)
assert status(head.replace(b"Content-Length: 1000", b"Content-Length: 5\r\nTransfer-Encoding: chunked") + b"0\r\n\r\n") in (400, None)
reader.goes_on()

# Bodies that are too long: read to 16 MiB and refused, and cut off beyond; too deep; that name a
# key twice; that are no object.
volumes = "/api/storage/volumes"
assert ask(new(), "POST", volumes, b" " * (2 << 20)) == 413
try:
    assert ask(new(), "POST", volumes, b" " * (40 << 20)) == 413
except (ssl.SSLError, ConnectionError):
    pass  # It was closed while the rest was on its way; the answer may be lost with it.
reader.goes_on()
# Without a length before it, too.
assert ask(new(), "POST", volumes, (b"[" * 4096 for _ in range(512))) == 413
for body in [
    b'{"a":' * 17 + b"1" + b"}" * 17,
    b'{"a":' * 100_000,
    b"[" * 500_000,
    b'{"name": "twice", "name": "two", "svm": {"name": "svm01"}}',
    b'{"name": "twice", "svm": {"name": "svm01", "name": "svm01"}}',
    b'{"name": "\xff\xfe"}',
    b'{"name": "half',
    b'{"name": 1e999999}',
    b"null",
    b'[{"name": "list"}]',
]:
    assert ask(new(), "POST", volumes, body) == 400, body[:60]
    assert ask(new(), "PATCH", volumes + "?name=vol1", body) == 400, body[:60]
assert ask(new(), "GET", "/api/cluster", b"[" * 500_000) == 200
reader.goes_on()

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

# And names that are paths, in bodies: refused, and nothing is made of them.
svm = '"svm": {"name": "svm01"}'
for method, path, body in [
    ("POST", volumes, '{"name": "../../etc", "size": 4096, %s}'),
    ("POST", volumes, '{"name": "a/b", "size": 4096, %s}'),
    ("POST", volumes, '{"name": "..", "size": 4096, %s}'),
    ("POST", volumes, '{"name": "a\\u0000", "size": 4096, %s}'),
    ("POST", "/api/storage/luns", '{"name": "/vol/../../etc/l", "space": {"size": 4096}, %s}'),
    ("POST", "/api/storage/luns", '{"name": "/vol/vol1/../l", "space": {"size": 4096}, %s}'),
    ("POST", "/api/storage/qtrees", '{"name": "../q", "volume": {"name": "vol1"}, %s}'),
    ("POST", "/api/storage/qos/policies", '{"name": "../p", "fixed": {"max_throughput_iops": 5}, %s}'),
    ("POST", "/api/svm/svms", '{"name": "../s"}'),
    ("PATCH", volumes + "?name=vol1", '{"name": "../v"}'),
]:
    body = (body % svm if "%s" in body else body).encode()
    answer = ask(new(), method, path, body)
    assert answer == 400, (method, path, body, answer)
reader.goes_on()
print(f"{reader.stop()} reads of a host meanwhile")
