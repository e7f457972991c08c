# Every call that administrators' scripts make of the official client, unchanged, each by itself:
# one line a call, `pass` or `fail` before it, and at the end an error if one failed. Each call
# stands on what the ones before it made.
#
# The arguments: the server's port, and the passwords of the users `admin` (admin) and `viewer`
# (readonly).

import sys
import traceback

import netapp_ontap
import requests
from netapp_ontap import HostConnection
from netapp_ontap.error import NetAppRestError
from netapp_ontap.resources import (
    Aggregate, Cluster, FileInfo, Job, Lun, QosPolicy, QosWorkload, Qtree, Snapshot, Svm, Volume,
)

port, passwords = int(sys.argv[1]), dict(zip(["admin", "viewer"], sys.argv[2:]))
S = {"name": "rows"}
GB = 1 << 30
calls = []

def connection(user, password=None):
    return HostConnection("127.0.0.1", username=user, password=password or passwords[user], verify=False, port=port)

def call(name):
    return lambda function: calls.append((name, function))

def refused(status, function, code=None):
    try:
        function()
    except NetAppRestError as error:
        assert error.status_code == status, f"{error.status_code} instead of {status}: {error}"
        assert code is None or str(code) in error.http_err_response.http_response.text, error
        return
    raise AssertionError(f"it succeeded instead of {status}")

def fixed(name, **limits):
    return QosPolicy(name=name, svm=S, fixed=limits or {"max_throughput_iops": 100})

def policy(name):
    return QosPolicy.find(name=name)

def volume(name, **queries):
    return Volume.find(name=name, **{"svm.name": "rows"}, **queries)

def names(found):
    return [one.name for one in found]

def set_and_patch(resource, **fields):
    """The client sends the fields that were set after a resource was made."""
    for name, value in fields.items():
        setattr(resource, name, value)
    return resource.patch()

@call("Cluster().get()")
def _():
    cluster = Cluster()
    cluster.get()
    assert cluster.version.generation == 9

@call("Svm(...).post(hydrate=True)")
def _():
    svm = Svm(name="rows", aggregates=[{"name": "aggr1"}])
    svm.post(hydrate=True)
    assert svm.uuid and svm.state == "running"
    Svm(name="other").post()

@call("Svm.find with 0, 1 and 2 matches")
def _():
    assert Svm.find(name="nowhere") is None and Svm.find(name="rows").uuid
    try:
        Svm.find(name="rows|other")
    except NetAppRestError:
        return
    raise AssertionError("one of two was found")

@call("QosPolicy(fixed).post()")
def _():
    fixed("p1", max_throughput_iops=10000, max_throughput_mbps=300, capacity_shared=False).post()

@call("QosPolicy(...).post(hydrate=True, return_timeout=0)")
def _():
    made = fixed("p2")
    made.post(hydrate=True, return_timeout=0)
    assert made.uuid and made.object_count == 0 and made.fixed.max_throughput_iops == 100

@call("QosPolicy(...).post(return_records=True)")
def _():
    made = fixed("p3")
    made.post(return_records=True)
    assert made.uuid

@call("QosPolicy(adaptive).post()")
def _():
    QosPolicy(name="a1", svm=S, adaptive={
        "expected_iops": 1000, "peak_iops": 1500, "absolute_min_iops": 75, "block_size": "4k",
        "expected_iops_allocation": "allocated_space", "peak_iops_allocation": "allocated_space",
    }).post()

@call("QosPolicy(string and burst).post()")
def _():
    QosPolicy(name="b1", svm=S, fixed={"max_throughput": "2000IOPS,300MB/s"}, burst={"percent": 25, "duration": 5}).post()
    assert QosPolicy.find(name="b1", fields="fixed,burst").fixed.max_throughput == "2000IOPS,300MB/s"

@call("QosPolicy.post_collection([...])")
def _():
    QosPolicy.post_collection([fixed(f"c{n}") for n in range(3)])
    assert QosPolicy.count_collection(name="c*") == 3

@call("QosPolicy.get_collection(fields, wildcard|alternative, order_by, svm.name)")
def _():
    found = QosPolicy.get_collection(fields="name,svm.name", name="p*|b1", order_by="name desc", **{"svm.name": "rows"})
    assert names(found) == ["p3", "p2", "p1", "b1"]

@call("QosPolicy.get_collection(max_records=1), following next")
def _():
    assert names(QosPolicy.get_collection(name="c*", max_records=1, order_by="name")) == ["c0", "c1", "c2"]

@call("QosPolicy.get_collection with a range, a negation and null")
def _():
    assert names(QosPolicy.get_collection(**{"fixed.max_throughput_iops": "5000..20000"})) == ["p1"]
    assert "p1" not in names(QosPolicy.get_collection(name="!p1"))
    assert names(QosPolicy.get_collection(**{"svm.name": "null"}, order_by="name")) == ["extreme", "performance", "value"]

@call("QosPolicy.find with 0, 1 and 2 matches")
def _():
    assert policy("nowhere") is None and policy("p1").uuid
    try:
        policy("c0|c1")
    except NetAppRestError:
        return
    raise AssertionError("one of two was found")

@call("QosPolicy.count_collection()")
def _():
    assert QosPolicy.count_collection(name="c*") == 3

@call("find, change, patch(): only what changed")
def _():
    found = policy("p1")
    found.fixed = {"max_throughput_iops": 2000}
    found.patch()
    found.get()
    assert (found.fixed.max_throughput_iops, found.fixed.max_throughput_mbps) == (2000, 300)

@call("rename by patch()")
def _():
    found = policy("p3")
    uuid, found.name = found.uuid, "renamed"
    found.patch()
    assert policy("renamed").uuid == uuid and policy("p3") is None

@call("QosPolicy(uuid=U).patch()")
def _():
    set_and_patch(QosPolicy(uuid=policy("p2").uuid), fixed={"max_throughput_iops": 222})
    assert QosPolicy.find(name="p2", fields="fixed").fixed.max_throughput_iops == 222

@call("adaptive policy: patch()")
def _():
    set_and_patch(QosPolicy(uuid=policy("a1").uuid), adaptive={"peak_iops": 2000})
    assert QosPolicy.find(name="a1", fields="adaptive").adaptive.peak_iops == 2000

@call("QosPolicy.patch_collection({...}, name=...)")
def _():
    QosPolicy.patch_collection({"fixed": {"max_throughput_iops": 50}}, name="c*")
    assert QosPolicy.count_collection(**{"fixed.max_throughput_iops": "50"}) == 3

@call("QosPolicy.patch_collection(records=[...])")
def _():
    records = [QosPolicy(uuid=policy(f"c{n}").uuid) for n in range(2)]
    for n, record in enumerate(records):
        record.fixed = {"max_throughput_iops": 60 + n}
    QosPolicy.patch_collection({}, records=records)
    assert QosPolicy.find(name="c1", fields="fixed").fixed.max_throughput_iops == 61

@call("QosPolicy.delete_collection(records=[...])")
def _():
    QosPolicy.delete_collection(records=[QosPolicy(uuid=policy("c0").uuid)])
    assert policy("c0") is None and policy("c1")

@call("QosPolicy.delete_collection(name=...)")
def _():
    QosPolicy.delete_collection(name="c*")
    assert QosPolicy.count_collection(name="c*") == 0

@call("QosPolicy(uuid=U).delete()")
def _():
    QosPolicy(uuid=policy("p2").uuid).delete()
    assert policy("p2") is None

@call("Volume(...).post(hydrate=True) under a policy")
def _():
    made = Volume(name="v1", svm=S, aggregates=[{"name": "aggr1"}], size="100GB", nas={"path": "/v1"},
                  qos={"policy": {"name": "a1"}})
    made.post(hydrate=True)
    assert made.size == 100 * GB and made.qos.policy.name == "a1" and made.state == "online"

@call("Volume.find with 0, 1 and 2 matches")
def _():
    Volume(name="v2", svm=S, size=GB).post()
    assert volume("nowhere") is None and volume("v1").uuid
    try:
        volume("v1|v2")
    except NetAppRestError:
        return
    raise AssertionError("one of two was found")

@call("attach by name, by uuid and by both: Volume.patch()")
def _():
    uuid = volume("v2").uuid
    p1 = policy("p1")
    for attached in [{"name": "p1"}, {"uuid": p1.uuid}, {"name": "p1", "uuid": p1.uuid}]:
        set_and_patch(Volume(uuid=uuid), qos={"policy": attached})
        assert volume("v2", fields="qos").qos.policy.name == "p1"
        set_and_patch(Volume(uuid=uuid), qos={"policy": {"name": ""}})
    refused(400, lambda: set_and_patch(Volume(uuid=uuid), qos={"policy": {"name": "a1", "uuid": p1.uuid}}))

@call("detach by none and by an empty name: Volume.patch()")
def _():
    uuid = volume("v2").uuid
    for word in ["none", ""]:
        set_and_patch(Volume(uuid=uuid), qos={"policy": {"name": "p1"}})
        set_and_patch(Volume(uuid=uuid), qos={"policy": {"name": word}})
        assert QosWorkload.count_collection(volume="v2") == 0

@call("an empty policy says nothing: Volume.patch()")
def _():
    set_and_patch(Volume(uuid=volume("v1").uuid), qos={"policy": {}})
    assert volume("v1", fields="qos").qos.policy.name == "a1"

@call("resize: Volume.patch(size), and the adaptive limits follow")
def _():
    set_and_patch(Volume(uuid=volume("v1").uuid), size="10TB")
    found = volume("v1", fields="size")
    assert found.size == 10 << 40
    assert list(QosWorkload.get_collection(volume="v1", fields="**"))[0].max_throughput_iops == (10 << 40) * 2000 // 10**12

@call("rename: Volume.patch(name)")
def _():
    uuid = volume("v2").uuid
    set_and_patch(Volume(uuid=uuid), name="v3")
    assert volume("v3").uuid == uuid

@call("Volume.get_collection(fields=name,size,qos.policy,svm.name,space.used)")
def _():
    found = list(Volume.get_collection(fields="name,size,qos.policy,svm.name,space.used", name="v1"))
    assert names(found) == ["v1"] and found[0].space.used == 0 and found[0].svm.name == "rows"

@call("Snapshot post, list, rename, delete")
def _():
    uuid = volume("v1").uuid
    Snapshot(uuid, name="s1").post()
    Snapshot(uuid, name="s2").post()
    set_and_patch(next(iter(Snapshot.get_collection(uuid, name="s2"))), name="s3")
    assert sorted(names(Snapshot.get_collection(uuid))) == ["s1", "s3"]
    next(iter(Snapshot.get_collection(uuid, name="s3"))).delete()

@call("clone of a volume now: it inherits no policy")
def _():
    Volume(name="k1", svm=S, clone={"is_flexclone": True, "parent_volume": {"name": "v1"}, "parent_svm": S}).post()
    assert QosWorkload.count_collection(volume="k1") == 0 and volume("k1", fields="size").size == 10 << 40
    made = volume("k1", fields="clone,create_time")
    assert made.clone.is_flexclone and made.clone.parent_volume.name == "v1" and made.clone.parent_svm.name == "rows"
    assert made.create_time.year > 2000 and not volume("v1", fields="clone").clone.is_flexclone
    assert names(Volume.get_collection(**{"clone.parent_volume.name": "v1"})) == ["k1"]

@call("Volume.patch(): a junction path, another one, none; one that is taken")
def _():
    uuid = volume("k1").uuid
    for path in ["/dev/k1", "/dev1"]:
        set_and_patch(Volume(uuid=uuid), nas={"path": path})
        assert volume("k1", fields="nas.path").nas.path == path
    refused(409, lambda: Volume(name="k0", svm=S, size=GB, nas={"path": "/dev1"}).post(return_timeout=15))
    assert volume("k0") is None
    set_and_patch(Volume(uuid=uuid), nas={"path": ""})
    assert not hasattr(volume("k1", fields="nas.path"), "nas")

@call("clone of a snapshot, under a policy")
def _():
    Volume(name="k2", svm=S, qos={"policy": {"name": "p1"}}, clone={
        "is_flexclone": True, "parent_volume": {"name": "v1"}, "parent_snapshot": {"name": "s1"}}).post()
    assert volume("k2", fields="qos").qos.policy.name == "p1"

@call("Lun(...).post(hydrate=True) with os_type and a policy")
def _():
    lun = Lun(name="/vol/v3/l1", svm=S, os_type="windows_2008", space={"size": "64MB"}, qos_policy={"name": "p1"})
    lun.post(hydrate=True)
    assert lun.os_type == "windows_2008" and lun.qos_policy.name == "p1" and lun.space.size == 64 << 20

@call("Lun.find with 0 and 1 matches; filter by location")
def _():
    assert Lun.find(name="/vol/v3/nowhere") is None and Lun.find(name="/vol/v3/l1").uuid
    assert names(Lun.get_collection(**{"location.volume.name": "v3"})) == ["/vol/v3/l1"]

@call("Lun.patch(): resize, rename, detach, attach an adaptive policy, offline")
def _():
    uuid = Lun.find(name="/vol/v3/l1").uuid
    set_and_patch(Lun(uuid=uuid), name="/vol/v3/l2", space={"size": "128MB"})
    set_and_patch(Lun(uuid=uuid), qos_policy={"name": ""})
    assert QosWorkload.count_collection(lun="*l2") == 0
    set_and_patch(Lun(uuid=uuid), qos_policy={"name": "a1"})
    set_and_patch(Lun(uuid=uuid), enabled=False)
    found = Lun(uuid=uuid)
    found.get(fields="*")
    assert (found.name, found.space.size, found.qos_policy.name) == ("/vol/v3/l2", 128 << 20, "a1")
    assert found.status.state == "offline"

@call("Lun.patch(): a policy set to None sends nothing and changes nothing")
def _():
    uuid = Lun.find(name="/vol/v3/l2").uuid
    set_and_patch(Lun(uuid=uuid), qos_policy=None)
    assert Lun.find(name="/vol/v3/l2", fields="qos_policy").qos_policy.name == "a1"

@call("Qtree post, find, patch, rename, delete")
def _():
    qtree = Qtree(name="q1", svm=S, volume={"name": "v3"})
    qtree.post(hydrate=True)
    set_and_patch(qtree, qos_policy={"name": "p1"})
    assert Qtree.find(name="q1", fields="qos_policy").qos_policy.name == "p1" and Qtree.find(name="nowhere") is None
    set_and_patch(Qtree.find(name="q1"), name="q2")
    found = Qtree.find(name="q2")
    set_and_patch(found, qos_policy={"name": "none"})
    found.delete()
    assert Qtree.find(name="q2") is None

@call("FileInfo list, patch, delete (made by plain HTTP: the client does not send a size)")
def _():
    uuid = volume("v3").uuid
    http = requests.Session()
    http.auth, http.trust_env = ("admin", passwords["admin"]), False
    body = {"size": 1 << 20, "qos_policy": {"name": "p1"}}
    url = f"https://127.0.0.1:{port}/api/storage/volumes/{uuid}/files/disks%2Fa.img"
    answer = http.post(url, json=body, verify=False)
    assert answer.status_code == 202 and answer.headers["Location"].endswith("/files/disks%2Fa.img"), answer.text
    file = next(iter(FileInfo.get_collection(uuid, path="disks/a.img", fields="**")))
    assert file.qos_policy.name == "p1" and file.size == 1 << 20
    set_and_patch(file, qos_policy={"name": "none"})
    assert QosWorkload.count_collection(file="*a.img") == 0
    file.delete()
    assert not list(FileInfo.get_collection(uuid, path="disks/a.img"))

@call("Svm.patch(): policy, template, rename")
def _():
    uuid = Svm.find(name="other").uuid
    QosPolicy(name="forsvm", svm={"name": "other"}, fixed={"max_throughput_iops": 900}).post()
    set_and_patch(Svm(uuid=uuid), qos_policy={"name": "forsvm"})
    assert Svm.find(name="other", fields="qos_policy").qos_policy.name == "forsvm"
    set_and_patch(Svm(uuid=uuid), qos_policy={"name": "none"})
    set_and_patch(Svm(uuid=uuid), qos_adaptive_policy_group_template={"name": "value"}, name="second")
    found = Svm(uuid=uuid)
    found.get(fields="*")
    assert found.name == "second" and found.qos_adaptive_policy_group_template.name == "value"
    Volume(name="t1", svm={"name": "second"}, size=GB).post()
    assert Volume.find(name="t1", fields="qos").qos.policy.name == "value"

@call("Aggregate.get_collection(fields=space)")
def _():
    found = list(Aggregate.get_collection(fields="space"))
    space = found[0].space.block_storage
    assert len(found) == 1 and 0 < space.available <= space.size and space.used + space.available == space.size

@call("QosWorkload.get_collection(fields=**), and by every field")
def _():
    found = list(QosWorkload.get_collection(fields="**", volume="v1"))
    assert len(found) == 1 and found[0].name == f"v1-wid{found[0].wid}" and found[0].policy.name == "a1"
    assert [one.wid for one in QosWorkload.get_collection(wid=str(found[0].wid))] == [found[0].wid]
    assert QosWorkload.count_collection(**{"policy.name": "a1", "svm.name": "rows"}) == 2
    assert QosWorkload.count_collection(max_throughput_iops=">1000") >= 1

@call("Job.get_collection(), get, and the job of a call")
def _():
    answer = Volume(name="j1", svm=S, size=GB).post(poll=False)
    assert answer.is_job
    job = Job(uuid=answer.http_response.json()["job"]["uuid"])
    job.get()
    assert job.state == "success" and job.code == 0 and job.svm.name == "rows"
    assert Job.count_collection(state="success") > 5

@call("return_timeout: no job, a Location, and the failure at once")
def _():
    answer = Volume(name="j2", svm=S, size=GB).post(return_timeout=15)
    assert not answer.is_job and answer.http_response.status_code == 201
    refused(409, lambda: volume("v3").delete(return_timeout=15))

@call("a job that fails")
def _():
    try:
        volume("v3").delete()
    except NetAppRestError as error:
        assert "Job failed" in str(error) and "l2" in str(error), error
    else:
        raise AssertionError("a volume went with what is in it")
    failed = list(Job.get_collection(fields="*", state="failure"))
    assert failed[-1].error.code == "8" or failed[-1].code == 8

@call("400: values, names, fields that cannot be set, exclusive fields")
def _():
    refused(400, lambda: fixed("x", max_throughput_iops=1, min_throughput_iops=2).post(), 8454194)
    refused(400, lambda: QosPolicy(name="x", svm=S, adaptive={"expected_iops": 0, "peak_iops": 1}).post(), 8454273)
    refused(400, lambda: QosPolicy(name="x", svm=S, adaptive={"expected_iops": 5, "peak_iops": 1}).post(), 8454274)
    refused(400, lambda: fixed("no name").post())
    refused(400, lambda: QosPolicy(name="x", svm=S).post())
    refused(400, lambda: list(Volume.get_collection(odd="1")), 262179)
    assert policy("x") is None

@call("401: an unknown user")
def _():
    with connection("admin", "wrong"):
        refused(401, lambda: list(Svm.get_collection()), 6691623)

@call("403: a user who may only look, and a built-in policy")
def _():
    import time
    # After a wrong password nothing from this address is looked at for a moment.
    with connection("viewer"):
        for _ in range(50):
            try:
                assert QosPolicy.count_collection(name="p1") == 1
                break
            except NetAppRestError as error:
                assert error.status_code == 429, error
                time.sleep(0.1)
        refused(403, fixed("x").post, 6)
        refused(403, lambda: volume("v1").delete())
    refused(403, policy("extreme").delete, 8454286)

@call("404: nothing of that identifier or name")
def _():
    nobody = "00000000-0000-0000-0000-000000000000"
    refused(404, QosPolicy(uuid=nobody).get)
    refused(404, lambda: set_and_patch(QosPolicy(uuid=nobody), name="x"))
    refused(404, Volume(uuid=nobody).delete)
    refused(404, lambda: set_and_patch(Volume(uuid=volume("v1").uuid), qos={"policy": {"name": "nowhere"}}))
    refused(404, lambda: QosPolicy(name="x", svm={"name": "nowhere"}, fixed={"max_throughput_iops": 1}).post())

@call("409: names taken")
def _():
    refused(409, fixed("p1").post, 8454379)
    refused(409, lambda: Volume(name="v1", svm=S, size=GB).post(), 1)
    refused(409, lambda: Svm(name="rows").post(), 1)

@call("QosPolicy.delete(): what it is attached to loses it")
def _():
    members = "|".join(one.name for one in Volume.get_collection(**{"qos.policy.name": "a1"}))
    policy("a1").delete()
    assert policy("a1") is None and members
    assert Volume.count_collection(name=members, **{"qos.policy.name": "null"}) == len(members.split("|"))

@call("delete: LUNs, volumes, snapshots, policies, SVMs")
def _():
    Lun.find(name="/vol/v3/l2").delete()
    uuid = volume("v1").uuid
    next(iter(Snapshot.get_collection(uuid))).delete()
    Volume.delete_collection(**{"svm.name": "rows|second"})
    QosPolicy.delete_collection(**{"svm.name": "rows|second"})
    set_and_patch(Svm(uuid=Svm.find(name="second").uuid), qos_adaptive_policy_group_template={"name": "none"})
    for name in ["rows", "second"]:
        Svm.find(name=name).delete()
    assert Svm.count_collection(name="rows|second") == 0 and Volume.count_collection() == 0

netapp_ontap.config.CONNECTION = connection("admin")
failed = 0
for name, function in calls:
    try:
        function()
        print(f"pass  {name}")
    except Exception:
        failed += 1
        print(f"fail  {name}")
        traceback.print_exc(limit=-2, file=sys.stdout)
print(f"{len(calls) - failed} of {len(calls)} calls pass")
sys.exit(failed > 0)
