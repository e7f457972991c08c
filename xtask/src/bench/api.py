# The client of `cargo xtask bench api`: see api.rs beside this file. Each part is a subcommand that
# prints one line of JSON.
#
# It stands behind nbd_client.py of the tests. The arguments: the part, the server's port, the
# password of the user `admin`, and what the part takes.

import base64
import http.client
import json
import re
import select
import ssl
import sys
import time

part, port, password, *rest = sys.argv[1:]
login = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
wire = http.client.HTTPSConnection("127.0.0.1", int(port), context=context, timeout=600)


def ask_text(method, path, body=None):
    wire.request(method, path, body=json.dumps(body) if body is not None else None, headers={"Authorization": login})
    answer = wire.getresponse()
    text = answer.read()
    assert answer.status < 400, (method, path, answer.status, text[:500])
    return text


def ask(method, path, body=None):
    return json.loads(ask_text(method, path, body))


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def make(path, bodies, step=500):
    for begin in range(0, len(bodies), step):
        ask("POST", f"{path}?return_timeout=120", {"records": bodies[begin:begin + step]})


def seed(volumes, policies):
    """So many volumes and non-shared policies, each volume under one of them."""
    svm = {"name": "bench"}
    ask("POST", "/api/svm/svms?return_timeout=120", svm)
    make("/api/storage/qos/policies", [
        {"name": f"p{n:05}", "svm": svm, "fixed": {"max_throughput_iops": 1000 + n}} for n in range(policies)])
    make("/api/storage/volumes", [
        {"name": f"v{n:05}", "svm": svm, "size": 1 << 20, "qos": {"policy": {"name": f"p{n % policies:05}"}}}
        for n in range(volumes)])


def lists(rounds):
    """Pages of 100 with a filter, in ms."""
    paths = {
        "volumes by name": "/api/storage/volumes?name=v0*&max_records=100&fields=name,size,qos.policy,svm.name",
        "volumes by policy": "/api/storage/volumes?qos.policy.name=p00*&max_records=100&fields=*",
        "volumes, all fields": "/api/storage/volumes?name=v0*&max_records=100&fields=**",
        "policies by ceiling": "/api/storage/qos/policies?fixed.max_throughput_iops=%3E5000&max_records=100&fields=*",
        "workloads, all fields": "/api/storage/qos/workloads?max_throughput_iops=%3E5000&max_records=100&fields=**",
        "volumes, sorted": "/api/storage/volumes?order_by=size,name%20desc&max_records=100",
    }
    found = {}
    for name, path in paths.items():
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            page = ask("GET", path)
            times.append((time.perf_counter() - began) * 1000)
            assert len(page["records"]) == 100, (name, page["num_records"])
        found[name] = {"median_ms": quantile(times, 0.5), "p99_ms": quantile(times, 0.99)}
    uuid = ask("GET", "/api/storage/qos/policies?name=p00007")["records"][0]["uuid"]
    times = []
    for n in range(rounds):
        began = time.perf_counter()
        ask("PATCH", f"/api/storage/qos/policies/{uuid}", {"fixed": {"max_throughput_iops": 2000 + n}})
        times.append((time.perf_counter() - began) * 1000)
    found["one policy changed"] = {"median_ms": quantile(times, 0.5), "p99_ms": quantile(times, 0.99)}
    return found


def poll(seconds):
    """Everything once a second, as one client does."""
    paths = ["/api/storage/volumes?fields=**", "/api/storage/qos/policies?fields=*", "/api/storage/qos/workloads?fields=**",
             "/api/storage/luns?fields=**", "/api/svm/svms?fields=*", "/api/storage/aggregates?fields=space"]
    # Reading JSON takes Python longer than the server needs to write it: only links are read.
    following = re.compile(rb'"next": ?\{"href": ?("[^"]*")')
    times, size, end = [], 0, time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        for path in paths:
            while path:
                page = ask_text("GET", path)
                found = following.search(page)
                path = json.loads(found[1]) if found else None
                size += len(page)
        times.append(time.monotonic() - began)
        time.sleep(max(0, 1 - times[-1]))
    return {"rounds": len(times), "round_s": quantile(times, 0.5), "round_mb": size / len(times) / 1e6}


def effect(path, export, rounds):
    """From a change of a policy to what it lets through, in ms: a read waits for its turn at 1 IOPS, and the ceiling goes. Beside
    it how long the change's own answer took."""
    nbd = Nbd(path, export)
    uuid = ask("GET", "/api/storage/qos/policies?name=probe")["records"][0]["uuid"]
    change = lambda iops: ask("PATCH", f"/api/storage/qos/policies/{uuid}", {"fixed": {"max_throughput_iops": iops}})
    times, answers = [], []
    while len(times) < rounds:
        change(1)
        # Reads pass until what was saved is spent; the one that waits is the one that is measured.
        waits = False
        while not waits:
            nbd.ask(0)
            waits = not select.select([nbd.wire], [], [], 0.02)[0]
            if not waits:
                nbd.answer()
        seen = []
        reader = threading.Thread(target=lambda: (nbd.answer(), seen.append(time.perf_counter())))
        reader.start()
        began = time.perf_counter()
        change(100_000)
        answers.append((time.perf_counter() - began) * 1000)
        reader.join()
        times.append((seen[0] - began) * 1000)
    return {"median_ms": quantile(times, 0.5), "p99_ms": quantile(times, 0.99), "rounds": len(times),
            "answer_median_ms": quantile(answers, 0.5), "answer_p99_ms": quantile(answers, 0.99)}


parts = {
    "seed": lambda: seed(int(rest[0]), int(rest[1])),
    "lists": lambda: lists(int(rest[0])),
    "poll": lambda: poll(float(rest[0])),
    "effect": lambda: effect(rest[0], rest[1], int(rest[2])),
}
print(json.dumps(parts[part]()))
