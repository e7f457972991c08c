# Requests that schemathesis makes of the server's own document: what every field's type allows, its edges, and what it does
# not allow. No answer may be a failure of the server's (5xx), have another content type than said, or hold what the document
# does not have. Then the answers' own side: a schema without typed properties is none.
#
# The arguments: the server's port, and the password of the user `admin`.

import base64
import json
import pathlib
import subprocess
import sys

import requests

port, password = sys.argv[1:]
base = f"https://127.0.0.1:{port}"
session = requests.Session()
session.auth, session.verify, session.trust_env = ("admin", password), False, False

document = session.get(f"{base}/docs/api").json()

# What requests find something by: an SVM with a volume, a LUN, a qtree, a file, a snapshot and a policy.
S = {"name": "s"}
for path, body in [
    ("svm/svms", S),
    ("storage/qos/policies", {"name": "p", "svm": S, "fixed": {"max_throughput_iops": 500}}),
    ("storage/volumes", {"name": "v", "svm": S, "size": 1 << 30, "qos": {"policy": {"name": "p"}}}),
    ("storage/luns", {"name": "/vol/v/l", "svm": S, "space": {"size": 1 << 20}}),
    ("storage/qtrees", {"name": "q", "svm": S, "volume": {"name": "v"}}),
]:
    answer = session.post(f"{base}/api/{path}?return_timeout=15", json=body)
    assert answer.status_code == 201, (path, answer.text)
volume = session.get(f"{base}/api/storage/volumes").json()["records"][0]["uuid"]
for path, body in [("snapshots", {"name": "one"}), ("files", {"path": "f", "size": 1 << 20})]:
    answer = session.post(f"{base}/api/storage/volumes/{volume}/{path}?return_timeout=15", json=body)
    assert answer.status_code == 201, (path, answer.text)


def close(schema):
    """A field in an answer that the document does not have is a failure here, though clients pass over it."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for inner in schema.values():
            close(inner)
    elif isinstance(schema, list):
        for inner in schema:
            close(inner)


# Its own templates have no dots in their names.
document = json.loads(json.dumps(document).replace("volume.uuid}", "volume_uuid}").replace(
    '"in": "path", "name": "volume.uuid"', '"in": "path", "name": "volume_uuid"'))
close(document["components"]["schemas"])
for methods in document["paths"].values():
    for operation in methods.values():
        close(operation["responses"])
        for parameter in operation["parameters"]:
            # Half of the requests are to meet what is there.
            if parameter["in"] == "path" and parameter["name"] == "volume_uuid":
                parameter["schema"] = {"type": "string", "enum": [volume, "x"]}
file = pathlib.Path("document.json")
file.write_text(json.dumps(document))

login = base64.b64encode(f"admin:{password}".encode()).decode()
command = [
    str(pathlib.Path(sys.executable).with_name("schemathesis")), "run", str(file), "--url", base,
    "--header", f"Authorization: Basic {login}", "--tls-verify", "false", "--no-color",
    "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
                "response_headers_conformance,unsupported_method,negative_data_rejection",
    "--phases", "coverage,fuzzing", "--max-examples", "15", "--max-time", "60", "--seed", "1", "--request-timeout", "10",
    "--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off", "--workers", "2",
]
ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(ended.stdout.replace(password, "…")[-8000:])
assert ended.returncode == 0, "schemathesis found failures"

# Nothing that was asked has hurt it: it answers still.
assert session.get(f"{base}/api/cluster").status_code == 200
