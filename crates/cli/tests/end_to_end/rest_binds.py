# A limit set by the official client while a volume is read at depth 32: how long after the client
# has its answer more than the limit still passes, and what passes then.
#
# It stands behind nbd_client.py. The arguments: the server's port, the password of the user
# `admin`, the NBD socket, and the export.

import sys
import time

import netapp_ontap
from netapp_ontap import HostConnection
from netapp_ontap.resources import QosPolicy, Volume

port, password, path, export = int(sys.argv[1]), *sys.argv[2:]
DEPTH, LIMIT, SECONDS, WINDOW = 32, 1000, 4, 0.1

netapp_ontap.config.CONNECTION = HostConnection("127.0.0.1", username="admin", password=password, verify=False, port=port)
QosPolicy(name="binding", svm={"name": "svm01"}, fixed={"max_throughput_iops": LIMIT}).post()
volume = Volume.find(name="vol1")

reader = Reader(path, export, DEPTH)
time.sleep(1)
began = time.monotonic()
volume.qos = {"policy": {"name": "binding"}}
volume.patch()
answered = time.monotonic()
time.sleep(SECONDS)
reader.stop()
ended = reader.ended

free = sum(1 for at in ended if at < began) / (began - ended[0])
assert free > 2 * LIMIT, f"only {free:.0f} IOPS without the limit"
windows = [sum(1 for at in ended if 0 <= at - answered - n * WINDOW < WINDOW) for n in range(int(SECONDS / WINDOW))]
# What passes in a window may be a fifth and a depth above the limit: it was admitted in the one
# before.
above = [n for n, count in enumerate(windows) if count > LIMIT * WINDOW * 1.2 + DEPTH]
binds = (above[-1] + 1) * WINDOW if above else 0.0
held = sum(windows[10:]) / (SECONDS - 1)
print(f"{free:.0f} IOPS before; the limit of {LIMIT} binds {binds:.1f} s after the answer, {held:.0f} IOPS from 1 s on")
assert binds <= 1.0, windows
assert 0.6 * LIMIT <= held <= 1.02 * LIMIT + DEPTH, windows
