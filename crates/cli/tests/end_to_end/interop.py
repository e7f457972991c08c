# The properties that libnbd's own interoperation checks and nbd-server's tester look at, asked
# through libnbd's Python module of a running server: lists and infos of exports before one is
# chosen, what is agreed with and without each feature, reads in pieces with holes, block sizes, and
# a seeded history of reads, writes, zeroes, trims and flushes in flight together over several
# connections, checked against a model.
#
# The arguments: the URI of the server's Unix socket without an export, the name of a LUN of 16 MiB,
# and a seed.

import errno
import random
import sys

import nbd

server, lun, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
SIZE = 16 << 20


def opened(export=None, opt_mode=False, **settings):
    h = nbd.NBD()
    h.set_export_name(export or lun)
    h.set_opt_mode(opt_mode)
    h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    for name, value in settings.items():
        getattr(h, "set_" + name)(value)
    h.connect_unix(server)
    return h


# list-exports: each name once, then the connection is good for choosing one of them.
h = opened(opt_mode=True)
names = []
count = h.opt_list(lambda name, description: names.append(name))
assert count == len(names) and names == sorted(set(names)) and lun in names, names
# Infos do not bind: another export can be asked about, an unknown one is refused, and the first is
# chosen after all.
h.set_export_name("nowhere")
try:
    h.opt_info()
    assert False, "an export that is not there has information"
except nbd.Error as error:
    assert error.errnum == errno.ENOENT, error
h.set_export_name(lun)
h.opt_info()
assert h.get_size() == SIZE
contexts = []
h.opt_list_meta_context(contexts.append)
assert contexts == ["base:allocation"], contexts
h.opt_go()
assert h.pread(512, 0) == bytes(512)
h.shutdown()
h = opened(opt_mode=True)
h.opt_abort()

# basic: what is agreed, with structured replies and without.
for structured in (True, False):
    h = opened(request_structured_replies=structured)
    assert h.get_protocol() == "newstyle-fixed" and not h.get_tls_negotiated()
    assert h.get_structured_replies_negotiated() == structured
    assert h.can_meta_context("base:allocation") == structured
    assert not h.is_read_only() and not h.is_rotational()
    for can in ("flush", "fua", "trim", "zero", "fast_zero", "cache", "multi_conn"):
        assert getattr(h, "can_" + can)(), can
    # Sizes: any alignment is served to who does not ask; who asks is told.
    least, preferred, most = (h.get_block_size(kind) for kind in (0, 1, 2))
    assert least in (1, 512, 4096) and preferred == 4096 and most == 32 << 20, (least, preferred, most)
    h.shutdown()

# structured read: what was never written is a hole, data is data, and both come once.
h = opened()
h.pwrite(b"\x55" * 8192, 1 << 20)
pieces = {}


def piece(buf, at, status, err):
    assert at not in pieces
    pieces[at] = (len(buf), status, bytes(buf))


h.pread_structured(65536 + 8192 + 65536, (1 << 20) - 65536, piece)
kinds = [(at - (1 << 20), length, status) for at, (length, status, _) in sorted(pieces.items())]
assert kinds == [(-65536, 65536, nbd.READ_HOLE), (0, 8192, nbd.READ_DATA), (8192, 65536, nbd.READ_HOLE)], kinds
assert pieces[1 << 20][2] == b"\x55" * 8192
pieces.clear()
h.pread_structured(65536 + 8192, (1 << 20) - 65536, piece, nbd.CMD_FLAG_DF)
assert [(length, status) for length, status, _ in pieces.values()] == [(65536 + 8192, nbd.READ_DATA)]
h.shutdown()

# integrity: four connections, up to 64 requests in flight together that may not touch each other's
# bytes while they fly (their order would be anybody's), each read checked against what the model
# held when it was sent.
chance = random.Random(seed)
handles = [opened() for _ in range(4)]
model = bytearray(SIZE)
model[1 << 20 : (1 << 20) + 8192] = b"\x55" * 8192
flying = {}
done = {"read": 0, "write": 0, "zero": 0, "trim": 0, "flush": 0}


def settle(wanted):
    """Waits until no more than so many are in flight."""
    while len(flying) > wanted:
        for (index, cookie), (kind, offset, length, buffer, expected) in list(flying.items()):
            # An error of the request is raised here.
            if not handles[index].aio_command_completed(cookie):
                continue
            del flying[index, cookie]
            done[kind] += 1
            if kind == "read":
                assert buffer.to_bytearray() == expected, f"seed {seed}: {length} bytes at {offset}"
        if len(flying) > wanted:
            handles[next(iter(flying))[0]].poll(10)


def is_free(offset, length):
    return all(offset + length <= at or at + size <= offset for _, at, size, _, _ in flying.values())


for step in range(4000):
    index = chance.randrange(4)
    h = handles[index]
    kind = chance.choices(list(done), weights=(10, 10, 2, 2, 1))[0]
    # This server's trims are of whole blocks, which read as zeroes then; the protocol leaves it
    # open.
    align = 65536 if kind == "trim" else chance.choice((512, 4096, 65536))
    length = align * chance.randint(1, 16)
    offset = chance.randrange((SIZE - length) // align + 1) * align
    if kind == "flush":
        flying[index, h.aio_flush()] = (kind, 0, 0, None, None)
        continue
    if not is_free(offset, length):
        settle(0)
    flags = nbd.CMD_FLAG_FUA if chance.random() < 0.2 else 0
    buffer = expected = None
    if kind == "read":
        buffer, expected = nbd.Buffer(length), bytes(model[offset : offset + length])
        cookie = h.aio_pread(buffer, offset)
    elif kind == "write":
        data = chance.randbytes(length)
        model[offset : offset + length] = data
        buffer = nbd.Buffer.from_bytearray(bytearray(data))
        cookie = h.aio_pwrite(buffer, offset, flags=flags)
    else:
        model[offset : offset + length] = bytes(length)
        cookie = (h.aio_zero if kind == "zero" else h.aio_trim)(length, offset, flags=flags)
    flying[index, cookie] = (kind, offset, length, buffer, expected)
    settle(63)
settle(0)
handles[0].flush()
for at in range(0, SIZE, 1 << 20):
    assert handles[at >> 20 & 3].pread(1 << 20, at) == model[at : at + (1 << 20)], f"seed {seed}: the MiB at {at}"
for h in handles:
    h.shutdown()
assert all(done.values()), done
print("all as it should be")
