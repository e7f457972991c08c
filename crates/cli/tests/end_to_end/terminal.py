# Drives a program at a terminal: argv[1] is a list of steps in JSON, each a text to wait for and
# keys to type then; the rest is the program. Prints what the terminal showed. The program ends by
# itself after the last step.
import json, os, pty, select, sys

steps, program = json.loads(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.execv(program[0], program)
shown, seen = "", 0
while True:
    if not select.select([terminal], [], [], 60)[0]:
        sys.exit(f"waited 60 s for {steps[:1]}; shown: {shown!r}")
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece.decode(errors="replace")
    while steps and steps[0][0] in shown[seen:]:
        seen = shown.index(steps[0][0], seen) + len(steps[0][0])
        os.write(terminal, steps.pop(0)[1].encode())
print(shown)
if steps:
    sys.exit(f"ended before {steps}")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
