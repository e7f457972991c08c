# Jobs and a server that is killed: `make` has volumes made one after the other until nobody
# answers, and `check` asks, after the next start, whether each job tells the truth about its
# volume.
#
# The arguments: make or check, the server's port, the password of the user `admin`, and the round.

import base64
import http.client
import json
import ssl
import sys

what, port, password, round_ = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
login = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
wire = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)


def ask(method, path, body=None):
    wire.request(method, path, body=json.dumps(body) if body else None, headers={"Authorization": login})
    answer = wire.getresponse()
    return answer.status, json.loads(answer.read())


svm = f"s{round_}"
if what == "make":
    assert ask("POST", "/api/svm/svms", {"name": svm})[0] == 202
    answered = 0
    try:
        while True:
            name = f"v{answered}"
            assert ask("POST", "/api/storage/volumes", {"name": name, "svm": {"name": svm}, "size": 1 << 20})[0] == 202
            answered += 1
            if answered == 1:
                print("answered", flush=True)
    except (OSError, http.client.HTTPException):
        pass
    with open(f"answered-{round_}", "w") as file:
        file.write(str(answered))
else:
    with open(f"answered-{round_}") as file:
        answered = int(file.read())
    there = {one["name"] for one in ask("GET", f"/api/storage/volumes?svm.name={svm}")[1]["records"]}
    # What was answered is there; of the one after it nothing is known to the client.
    assert {f"v{n}" for n in range(answered)} <= there and len(there) <= answered + 1, (answered, there)
    # The SVM's own job has none.
    jobs = ask("GET", f"/api/cluster/jobs?fields=*&description=*volumes&svm.name={svm}")[1]["records"]
    done = [job for job in jobs if job["state"] == "success"]
    assert len(done) == min(len(there), 1024) or len(jobs) >= 900, (len(done), len(there))
    for job in jobs:
        if job["state"] == "failure":
            assert "ended before it was done" in job["message"] and job["code"] == 5, job
    # Nothing is in the way of asking again.
    again = ask("POST", f"/api/storage/volumes?return_timeout=15", {"name": "again", "svm": {"name": svm}, "size": 1 << 20})
    assert again[0] == 201, again
