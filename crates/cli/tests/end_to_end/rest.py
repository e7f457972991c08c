# The official client, unchanged, against a running server: what the administrators' scripts do with
# policies, volumes, LUNs, qtrees and SVMs, and what they are told when it cannot be done. The
# script stops with a traceback at the first wrong answer.
#
# The arguments: the server's port, and the passwords of the users `admin` (admin), `viewer`
# (readonly) and `tenant` (admin of the SVM svm2, which is there).

import base64
import http.client
import json
import ssl
import sys

import netapp_ontap
from netapp_ontap import HostConnection
from netapp_ontap.error import NetAppRestError
from netapp_ontap.resources import (
    Aggregate, Cluster, Job, Lun, QosPolicy, QosWorkload, Qtree, Snapshot, Svm, Volume,
)

port, passwords = int(sys.argv[1]), dict(zip(["admin", "viewer", "tenant"], sys.argv[2:]))
TB = 10 ** 12


def connection(user, password=None):
    return HostConnection("127.0.0.1", username=user, password=password or passwords[user], verify=False, port=port)


def fails(status, call, word="", code=None):
    """The call must be refused with that status, in words that name what is wrong."""
    try:
        call()
    except NetAppRestError as error:
        assert error.status_code == status, f"{error} instead of {status}"
        assert word in str(error), f"{error} has no {word!r}"
        assert code is None or f'"code": "{code}"' in error.http_err_response.http_response.text.replace('":"', '": "')
    else:
        assert False, f"it succeeded instead of {status}"


def patch(resource, **fields):
    """The client sends what was set after a resource was made, and nothing else."""
    for name, value in fields.items():
        setattr(resource, name, value)
    resource.patch()


def names(found):
    return [one.name for one in found]


def raw(method, path, body=None, user="admin"):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    wire = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    login = base64.b64encode(f"{user}:{passwords[user]}".encode()).decode()
    wire.request(method, path, body=body, headers={"Authorization": f"Basic {login}"})
    answer = wire.getresponse()
    return answer.status, json.loads(answer.read()), answer.headers


netapp_ontap.config.CONNECTION = connection("admin")

cluster = Cluster()
cluster.get()
assert cluster.name == "pool" and cluster.version.generation == 9, cluster

# SVMs and aggregates.
svm = Svm(name="svm1", aggregates=[{"name": "aggr1"}])
svm.post(hydrate=True)
assert svm.uuid and svm.state == "running", svm
fails(409, lambda: Svm(name="svm1").post())
aggregates = list(Aggregate.get_collection(fields="space"))
assert len(aggregates) == 1 and aggregates[0].space.block_storage.size > 0, aggregates
S1 = {"name": "svm1"}

# Fixed policies: made, hydrated, shown with what a script asks for.
policy = QosPolicy(name="pol1", svm=S1, fixed={
    "max_throughput_iops": 10000, "max_throughput_mbps": 300, "capacity_shared": False,
})
policy.post(hydrate=True, return_timeout=0)
assert policy.uuid and policy.fixed.max_throughput_iops == 10000 and policy.fixed.max_throughput_mbps == 300, policy
assert policy.policy_class == "user_defined" and policy.scope == "svm" and policy.object_count == 0, policy
burst = QosPolicy(name="xburst", svm=S1, fixed={"max_throughput": "2000IOPS,300MB/s"}, burst={"percent": 25, "duration": 5})
burst.post()
burst.get()
assert burst.fixed.max_throughput == "2000IOPS,300MB/s" and burst.burst.percent == 25 and burst.burst.duration == 5, burst
adaptive = QosPolicy(name="adapt", svm=S1, adaptive={
    "expected_iops": 1000, "peak_iops": 1500, "absolute_min_iops": 50, "block_size": "4k",
    "expected_iops_allocation": "allocated_space", "peak_iops_allocation": "allocated_space",
})
adaptive.post(return_records=True)
adaptive.get(fields="**")
assert adaptive.adaptive.peak_iops == 1500 and adaptive.adaptive.block_size == "4k", adaptive
QosPolicy.post_collection([QosPolicy(name=f"poln{n}", svm=S1, fixed={"max_throughput_iops": n}) for n in [100, 200, 300]])

# Lists: filters, wildcards, alternatives, order, pages, counts, and one by its name.
found = QosPolicy.get_collection(fields="name,svm.name", name="pol*|x*", order_by="name desc", **{"svm.name": "svm1"})
assert names(found) == ["xburst", "poln300", "poln200", "poln100", "pol1"]
assert names(QosPolicy.get_collection(name="pol*", max_records=1, order_by="name")) == ["pol1", "poln100", "poln200", "poln300"]
assert names(QosPolicy.get_collection(**{"fixed.max_throughput_iops": "200..2000"}, order_by="name")) == ["poln200", "poln300", "xburst"]
assert names(QosPolicy.get_collection(**{"fixed.max_throughput_iops": ">=2000"}, order_by="name")) == ["pol1", "xburst"]
assert names(QosPolicy.get_collection(policy_class="!user_defined", order_by="name")) == ["extreme", "performance", "value"]
assert QosPolicy.count_collection(name="poln*") == 3
assert QosPolicy.find(name="pol1", svm=S1).uuid == policy.uuid
assert QosPolicy.find(name="nowhere") is None
fails(400, lambda: list(QosPolicy.get_collection(odd_field="1")), "odd_field")
try:
    QosPolicy.find(name="poln*")
    assert False, "one of several was found"
except NetAppRestError:
    pass

# Changes: only what is given changes; a rename keeps the identifier.
policy = QosPolicy.find(name="pol1")
policy.name, policy.fixed = "renamed", {"max_throughput_iops": 2000}
policy.patch()
policy.get()
assert (policy.name, policy.fixed.max_throughput_iops, policy.fixed.max_throughput_mbps) == ("renamed", 2000, 300), policy
QosPolicy.patch_collection({"fixed": {"max_throughput_iops": 50}}, name="poln*")
assert QosPolicy.count_collection(**{"fixed.max_throughput_iops": "50"}) == 3
QosPolicy.delete_collection(name="poln*")
assert QosPolicy.count_collection(name="poln*") == 0

# What is refused, with ONTAP's codes and the field.
fails(409, lambda: QosPolicy(name="renamed", svm=S1, fixed={"max_throughput_iops": 1}).post(), "renamed", 8454379)
fails(400, lambda: QosPolicy(name="p", svm=S1, fixed={"max_throughput_iops": 1, "min_throughput_iops": 2}).post(), code=8454194)
fails(400, lambda: QosPolicy(name="p", svm=S1, adaptive={"expected_iops": 5, "peak_iops": 1}).post(), code=8454274)
fails(400, lambda: QosPolicy(name="p", svm=S1).post(), "fixed")
fails(404, lambda: QosPolicy(name="p", svm={"name": "nowhere"}, fixed={"max_throughput_iops": 1}).post(), "nowhere")
fails(404, lambda: QosPolicy(uuid="00000000-0000-0000-0000-000000000000").get())
preset = QosPolicy.find(name="extreme")
fails(403, preset.delete, code=8454286)

# Volumes: 100GB are 107 374 182 400 bytes from this client; 0.107374 TB at 1500/TB, cut, is 161,
# and 10TB are 16492.
volume = Volume(name="vol1", svm=S1, aggregates=[{"name": "aggr1"}], size="100GB", nas={"path": "/vol1"},
                qos={"policy": {"name": "adapt"}})
volume.post(hydrate=True)
assert volume.uuid and volume.size == 107374182400 and volume.qos.policy.name == "adapt", volume
workload = list(QosWorkload.get_collection(fields="**", volume="vol1"))
assert len(workload) == 1 and workload[0].max_throughput_iops == 107374182400 * 1500 // TB == 161, workload
volume.size = "10TB"
volume.patch()
assert list(QosWorkload.get_collection(fields="**"))[0].max_throughput_iops == 10995116277760 * 1500 // TB
for attached in [{"name": "renamed"}, {"uuid": burst.uuid}]:
    patch(Volume(uuid=volume.uuid), qos={"policy": attached})
    volume.get(fields="qos.policy")
    assert attached.get("name", "xburst") == volume.qos.policy.name, volume
assert QosPolicy.find(name="xburst", fields="object_count").object_count == 1
patch(Volume(uuid=volume.uuid), qos={"policy": {"name": "none"}})
assert QosWorkload.count_collection() == 0
fails(409, lambda: Volume(name="vol1", svm=S1, size="1GB").post())
fails(404, lambda: patch(Volume(uuid=volume.uuid), qos={"policy": {"name": "nowhere"}}), "nowhere")
listed = list(Volume.get_collection(fields="name,size,qos.policy,svm.name,space.used"))
assert names(listed) == ["vol1"] and listed[0].space.used == 0 and listed[0].svm.name == "svm1", listed

# LUNs and qtrees, and a policy on each.
lun = Lun(name="/vol/vol1/lun1", svm=S1, os_type="linux", space={"size": "1GB"}, qos_policy={"name": "renamed"})
lun.post(hydrate=True)
assert lun.uuid and lun.qos_policy.name == "renamed" and lun.location.volume.name == "vol1", lun
patch(Lun(uuid=lun.uuid), qos_policy={"name": ""})
assert QosWorkload.count_collection() == 0
patch(Lun(uuid=lun.uuid), name="/vol/vol1/lun2", space={"size": "2GB"})
lun.get(fields="*")
assert lun.name == "/vol/vol1/lun2" and lun.space.size == 2 << 30, lun
qtree = Qtree(name="q1", svm=S1, volume={"name": "vol1"})
qtree.post(hydrate=True)
qtree.qos_policy = {"name": "renamed"}
qtree.patch()
assert Qtree.find(name="q1", fields="qos_policy").qos_policy.name == "renamed"

# Clones and snapshots.
Snapshot(volume.uuid, name="before").post()
assert names(Snapshot.get_collection(volume.uuid)) == ["before"]
clone = Volume(name="dev1", svm=S1, clone={"is_flexclone": True, "parent_volume": {"name": "vol1"},
                                           "parent_snapshot": {"name": "before"}})
clone.post(hydrate=True)
assert clone.size == 10995116277760, clone
clone.get(fields="qos.policy")
assert "qos" not in clone.to_dict(), clone
assert names(Lun.get_collection(**{"location.volume.name": "dev1"})) == ["/vol/dev1/lun2"]

# A job that fails says why, and one that is done is listed.
try:
    Volume(uuid=volume.uuid).delete()
    assert False, "a volume went with what is in it"
except NetAppRestError as error:
    assert "Job failed" in str(error) and "lun2" in str(error), error
failed = list(Job.get_collection(fields="*", state="failure"))
assert len(failed) == 1 and failed[0].code == 8, failed
assert Job.count_collection(state="success") > 10
fails(409, lambda: Volume(uuid=volume.uuid).delete(return_timeout=15), "lun2")

# Who may what.
with connection("viewer"):
    assert QosPolicy.count_collection(name="renamed") == 1
    fails(403, lambda: QosPolicy(name="p", svm=S1, fixed={"max_throughput_iops": 1}).post(), "viewer")
    fails(403, lambda: Volume.find(name="vol1").delete())
with connection("tenant"):
    assert names(Svm.get_collection()) == ["svm2"] and Volume.count_collection() == 0
    assert sorted(names(QosPolicy.get_collection())) == ["extreme", "performance", "value"]
    QosPolicy(name="own", svm={"name": "svm2"}, fixed={"max_throughput_iops": 500}).post()
    Volume(name="own", svm={"name": "svm2"}, size="1GB", qos={"policy": {"name": "own"}}).post()
    fails(403, lambda: QosPolicy(name="p", svm=S1, fixed={"max_throughput_iops": 1}).post(), "tenant")
    fails(404, lambda: QosPolicy(uuid=policy.uuid).delete())
    fails(403, lambda: Svm(name="svm3").post())
    fails(403, QosPolicy(uuid=preset.uuid).delete)

# What HTTP itself has to refuse, and the client's own empty changes.
assert raw("PATCH", f"/api/storage/volumes/{volume.uuid}", '{"qos":{"policy":{}}}')[0] == 202
assert raw("PATCH", f"/api/storage/qos/policies/{policy.uuid}", "{}")[:2] == (200, {})
for body, code in [('{"name":"a","name":"b"}', "262199"), ("[1]", "262199"), ("{" * 50, "262199"), ('{"odd":1}', "262196")]:
    status, answer, _ = raw("PATCH", f"/api/storage/volumes/{volume.uuid}", body)
    assert (status, answer["error"]["code"]) == (400, code), (body, answer)
assert raw("POST", "/api/storage/volumes", " " * (2 << 20))[0] == 413
assert raw("GET", "/api/nowhere")[0] == 404
assert raw("DELETE", "/api/cluster")[0] == 405
status, answer, headers = raw("POST", "/api/storage/qos/policies", json.dumps(
    {"name": "there", "svm": S1, "fixed": {"max_throughput_iops": 1}}))
assert status == 201 and headers["Location"].startswith("/api/storage/qos/policies/"), (status, answer)
assert headers["Content-Type"] == "application/hal+json"
assert raw("DELETE", headers["Location"], "{}")[:2] == (200, {})
with connection("admin", "wrong password"):
    fails(401, lambda: list(Svm.get_collection()), "not authorized")
