# What was done, as the official client reads it: the metrics of a volume over an hour, and its
# counters.
#
# The arguments: the server's port, the password of the user `admin`, and how many operations were
# done.

import base64
import http.client
import json
import ssl
import sys

from netapp_ontap import HostConnection
from netapp_ontap.resources import Lun, QosWorkload, Volume, VolumeMetrics

port, password, operations = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def raw(path):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    wire = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    login = base64.b64encode(f"admin:{password}".encode()).decode()
    wire.request("GET", path, headers={"Authorization": f"Basic {login}"})
    answer = wire.getresponse()
    return answer.status, json.loads(answer.read())


with HostConnection("127.0.0.1", username="admin", password=password, verify=False, port=port):
    volume = Volume.find(name="vol1")
    volume.get(fields="statistics,metric")
    counters = volume.statistics
    assert operations <= counters.iops_raw.read <= operations + 32, counters
    assert counters.iops_raw.total == counters.iops_raw.read + counters.iops_raw.other, counters
    assert counters.throughput_raw.read == counters.iops_raw.read * 4096, counters
    assert counters.latency_raw.total > 0 and volume.metric.status == "ok", volume
    hour = list(VolumeMetrics.get_collection(volume.uuid, interval="1h", fields="*"))
    assert hour and all(one.duration == "PT15S" for one in hour), hour
    # Rates over a stretch of which the last may be shorter than 15 s.
    assert max(one.iops.read for one in hour) > 0 and max(one.latency.total for one in hour) > 10_000, hour
    lun = Lun.find(name="/vol/vol1/lun1")
    lun.get(fields="statistics")
    assert lun.statistics.iops_raw.read == counters.iops_raw.read, lun
    workload = QosWorkload.find(volume="vol1")

status, answer = raw(f"/api/storage/qos/workloads/{workload.uuid}/metrics?interval=10m&fields=*&order_by=timestamp desc".replace(" ", "%20"))
assert status == 200 and answer["num_records"] == len(answer["records"]) > 0, answer
busy = max(answer["records"], key=lambda record: record["iops"]["total"])
latency = busy["latency"]
assert 300 <= busy["iops"]["total"] <= 700 and latency["qos_max"] > latency["disk"], busy
parts = sum(latency[part] for part in ["network", "qos_max", "qos_min", "store", "disk"])
assert abs(latency["total"] - parts) <= 5, busy
stamps = [record["timestamp"] for record in answer["records"]]
assert stamps == sorted(stamps, reverse=True), stamps
status, one = raw(busy["_links"]["self"]["href"] + "?interval=10m")
assert status == 200 and one["iops"] == busy["iops"], one
for interval, least in [("1d", 1), ("1w", 0), ("1m", 0), ("1y", 0)]:
    status, answer = raw(f"/api/storage/volumes/{volume.uuid}/metrics?interval={interval}")
    assert status == 200 and answer["num_records"] >= least, (interval, answer)
status, answer = raw(f"/api/storage/volumes/{volume.uuid}/metrics?interval=2h")
assert status == 400 and answer["error"]["target"] == "interval", answer
assert raw("/api/storage/volumes/nobody/metrics")[0] == 404
