#!/usr/bin/env python3
"""The experiment of the noisy neighbour by the official Python client of ONTAP's REST interface.

Two volumes are read by one client each, four requests at a time. Then a third one, with sixteen times as many, takes the
storage from them; then it gets a policy, by REST, while it runs. Each second the script asks the server what each volume has,
and at the end it draws that as an SVG picture and prints the means of the three phases.

    pip install netapp-ontap
    seawall serve --pool /srv/pool --create --rest 127.0.0.1:8443 &
    seawall user add alice --pool /srv/pool          # prints her password, once
    SEAWALL_PASSWORD=… examples/noisy_neighbour.py --user alice --picture neighbours.svg

It makes the SVM `neighbours` with all that is in it, and takes it away when it ends.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

from netapp_ontap import HostConnection, config
from netapp_ontap.resources import CLI, Lun, QosPolicy, Svm, Volume

SVM = {"name": "neighbours"}
QUIET, BULLY = ["quiet1", "quiet2"], "bully"
SIZE = 64 << 20
PHASES = ["alone", "with the bully", "the bully limited"]
COLOURS = {"quiet1": "#0072b2", "quiet2": "#009e73", "bully": "#d55e00"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8443, help="of REST")
    parser.add_argument("--user", required=True, help="the password is in the environment's SEAWALL_PASSWORD")
    parser.add_argument("--verify", default=False, metavar="FILE", help="the server's certificate, or its authority")
    parser.add_argument("--nbd", default="nbd://127.0.0.1:10809/", metavar="URI",
                        help="where the exports are; {} in it stands for an export's name, else it comes last")
    parser.add_argument("--seawall", default="seawall", help="the program that loads the volumes")
    parser.add_argument("--seconds", type=int, default=10, help="of each phase")
    parser.add_argument("--limit", type=int, default=500, help="IOPS that the bully's policy allows")
    parser.add_argument("--picture", default="neighbours.svg", metavar="FILE")
    return parser.parse_args()


def build():
    """The SVM, and in it a volume for each with a LUN as large."""
    Svm(**SVM).post()
    for name in [*QUIET, BULLY]:
        Volume(name=name, svm=SVM, size=SIZE).post()
        Lun(name=f"/vol/{name}/lun1", svm=SVM, os_type="linux", space={"size": SIZE}).post()


def take_away():
    Lun.delete_collection(**{"svm.name": SVM["name"]})
    Volume.delete_collection(**{"svm.name": SVM["name"]})
    QosPolicy.delete_collection(**{"svm.name": SVM["name"]})
    Svm.find(**SVM).delete()


def load(given, name, depth, seconds):
    """Reads of 4 KiB in places by chance, by a process of its own."""
    export = f"%2Fvol%2F{name}%2Flun1"
    uri = given.nbd.format(export) if "{}" in given.nbd else given.nbd + export
    command = [given.seawall, "fio", f"--name={name}", "--ioengine=nbd", f"--uri={uri}", "--rw=randread", "--bs=4k",
               f"--size={SIZE}", f"--iodepth={depth}", "--time_based", f"--runtime={seconds}"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def rates():
    """What each volume had in the last second, in IOPS: the pass-through runs `qos statistics volume performance show`."""
    records = CLI().execute("qos statistics volume performance show").http_response.json()["records"]
    found = {record["workload"].rsplit("-wid", 1)[0]: record["iops"] for record in records}
    return {name: found.get(name, 0) for name in [*QUIET, BULLY]}


def limit_bully(given):
    QosPolicy(name="bully-limit", svm=SVM, fixed={"max_throughput_iops": given.limit}).post()
    bully = Volume.find(name=BULLY, svm=SVM)
    bully.qos = {"policy": {"name": "bully-limit"}}
    bully.patch()


def measure(given):
    """A rate of each volume for each second: (second, phase, rates)."""
    seen, began = [], time.monotonic()
    # The loads outlast the last phase: they are ended when it is over.
    longest = 3 * given.seconds + 30
    loads = [load(given, name, 4, longest) for name in QUIET]
    try:
        for phase in range(len(PHASES)):
            if phase == 1:
                loads.append(load(given, BULLY, 64, longest))
            if phase == 2:
                limit_bully(given)
            until = time.monotonic() + given.seconds
            while time.monotonic() < until:
                time.sleep(1)
                if any(one.poll() is not None for one in loads):
                    sys.exit("a load ended before its time; its error is above")
                seen.append((time.monotonic() - began, phase, rates()))
    finally:
        for one in loads:
            one.terminate()
        for one in loads:
            one.wait()
    return seen


def mean(seen, phase, name):
    """Without the first second, in which what was before still counts."""
    values = [found[name] for _, at, found in seen if at == phase]
    return statistics.mean(values[1:] or values)


def ticks(most, parts):
    """Round values from 0 to the first one that is not below `most`, in about so many steps of 1, 2 or 5 times a power of ten."""
    step = next(factor * 10**power for power in range(12) for factor in (1, 2, 5) if factor * 10**power * parts >= most)
    return [step * n for n in range(-int(-most // step) + 1)]


def picture(seen, limit):
    """A line for each volume over time, and a band for each phase."""
    width, height, left, right, top, bottom = 720, 360, 64, 70, 58, 46
    rate_ticks = ticks(max(max(found.values()) for _, _, found in seen) or 1, 5)
    last, most, floor = seen[-1][0], rate_ticks[-1], height - bottom
    x = lambda second: left + second / last * (width - left - right)
    y = lambda rate: floor - rate / most * (floor - top)
    begins = [0] + [min(second for second, at, _ in seen if at == phase) - 1 for phase in range(1, len(PHASES))]
    names = [*PHASES[:-1], f"{PHASES[-1]} to {limit:,}"]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{left}" y="20" font-size="15">IOPS of three volumes that share a storage</text>']
    for phase, (name, begin, end) in enumerate(zip(names, begins, [*begins[1:], last])):
        shade = ["#f7f7f7", "#fdf1ea", "#f7f7f7"][phase]
        out.append(f'<rect x="{x(begin):.1f}" y="{top - 22}" width="{x(end) - x(begin):.1f}" height="{floor - top + 22}" '
                   f'fill="{shade}"/><text x="{(x(begin) + x(end)) / 2:.1f}" y="{top - 8}" text-anchor="middle">{name}</text>')
    for rate in rate_ticks:
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(rate):.1f}" y2="{y(rate):.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:,}</text>')
    for second in (tick for tick in ticks(last, 8) if tick <= last):
        out.append(f'<line x1="{x(second):.1f}" x2="{x(second):.1f}" y1="{floor}" y2="{floor + 4}" stroke="#888"/>'
                   f'<text x="{x(second):.1f}" y="{floor + 18}" text-anchor="middle">{second}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">seconds</text>')
    # The names at the lines' ends, from below, at least a line's height apart.
    places, free = {}, floor + 4
    for name in sorted(COLOURS, key=lambda name: seen[-1][2][name]):
        places[name] = min(y(seen[-1][2][name]) + 4, free)
        free = places[name] - 14
    for name, colour in COLOURS.items():
        # The bully is not there before its phase.
        points = [(second, found[name]) for second, _, found in seen if name != BULLY or second >= begins[1]]
        line = " ".join(f"{x(second):.1f},{y(rate):.1f}" for second, rate in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>'
                   f'<text x="{width - right + 6}" y="{places[name]:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>\n"])


def main():
    given = arguments()
    password = os.environ.get("SEAWALL_PASSWORD") or sys.exit("SEAWALL_PASSWORD is not in the environment")
    config.CONNECTION = HostConnection(given.host, username=given.user, password=password, verify=given.verify,
                                       port=given.port)
    build()
    try:
        seen = measure(given)
    finally:
        take_away()
    with open(given.picture, "w", encoding="utf-8") as file:
        file.write(picture(seen, given.limit))
    print(f"{'':20}" + "".join(f"{name:>10}" for name in [*QUIET, BULLY]) + "   IOPS, means")
    for phase, name in enumerate(PHASES):
        print(f"{name:20}" + "".join(f"{mean(seen, phase, volume):>10.0f}" for volume in [*QUIET, BULLY]))
    print(f"the picture is {given.picture}")


if __name__ == "__main__":
    main()
