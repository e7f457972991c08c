# Every query of the Grafana dashboard and every alert rule, asked of a real Prometheus that scrapes
# a loaded server. It ends with a traceback at the first that is refused, or that has no answer
# after a minute.
#
# It stands behind nbd_client.py. The arguments: Prometheus' address, the dashboard, the NBD socket,
# and the export.

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

address, dashboard, path, export = sys.argv[1:]
load = Reader(path, export, 32)


def ask(path, **query):
    url = f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        sys.exit(f"{path} {query}: {error.read().decode()}")


def answered(query):
    """Until it has a number that is one."""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        found = [one for one in ask("query", query=query)["result"] if one["value"][1] not in ("NaN", "+Inf")]
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"no series after a minute: {query}")


with open(dashboard) as file:
    board = json.load(file)
answered("seawall_build_info")
queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
assert len(queries) >= 20, len(queries)
for query in queries:
    plain = query.replace("[$__rate_interval]", "[10s]")
    for variable in board["templating"]["list"]:
        plain = plain.replace("$" + variable["name"], ".*")
    assert "$" not in plain, plain
    answered(plain)
for variable in board["templating"]["list"]:
    if variable["type"] == "query":
        label = variable["definition"].rstrip(")").rsplit(", ", 1)[1]
        assert ask(f"label/{label}/values"), label

# The figures are those of the load: reads of 4 KiB under a ceiling of 500 IOPS, which holds them.
rate = float(answered('sum(rate(seawall_volume_operations_total{volume="vol1",kind="read"}[10s]))')[0]["value"][1])
size = answered('sum(rate(seawall_volume_bytes_total{volume="vol1"}[10s])) '
                '/ sum(rate(seawall_volume_operations_total{volume="vol1"}[10s]))')
assert 0 < rate < 700 and abs(float(size[0]["value"][1]) - 4096) < 41, (rate, size)
# The ceiling takes most of the time: over some ten seconds, as a processor that is away is no
# ceiling.
answered('sum(rate(seawall_volume_request_seconds_total{volume="vol1",part="qos_max"}[10s])) '
         '/ sum(rate(seawall_volume_request_seconds_total{volume="vol1"}[10s])) > 0.5')
answered('seawall_policy_group_operations_total{policy_group="bronze",kind="read"} > 0')
answered('seawall_volume_ceiling_operations_per_second == 500')

rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
assert len(rules) == 6 and all(rule["health"] != "err" for rule in rules), rules
for rule in rules:
    ask("query", query=rule["query"])
load.stop()
