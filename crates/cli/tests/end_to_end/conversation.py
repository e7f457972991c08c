# What libnbd's tools do not ask, asked through its Python module: the protocol's replies, errors
# and promises as a client sees them. The argument is the URI of a LUN of 16 MiB; the script stops
# with a traceback at the first wrong answer.

import errno
import sys

import nbd

uri = sys.argv[1]
SIZE = 16 << 20
BLOCK = 4096


def fails(number, call):
    """The call must fail with that error, on a connection that goes on afterwards."""
    try:
        call()
    except nbd.Error as error:
        assert error.errnum == number, f"{error} instead of {errno.errorcode[number]}"
    else:
        assert False, f"it succeeded instead of {errno.errorcode[number]}"


def connect(structured=True, strict=True):
    h = nbd.NBD()
    if not structured:
        h.set_request_structured_replies(False)
    else:
        h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    if not strict:
        # The library must let wrong requests through: it is the server that is asked.
        h.set_strict_mode(0)
    h.connect_uri(uri)
    return h


def patterned(seed, length=BLOCK):
    return bytes((seed * 37 + at * 11) % 251 for at in range(length))


# Structured replies, and simple ones for a client that asks for no better.
a = connect()
plain = connect(structured=False)
assert a.get_structured_replies_negotiated()
assert not plain.get_structured_replies_negotiated()
for seed, (h, offset) in enumerate([(a, 0), (plain, BLOCK)]):
    h.pwrite(patterned(seed), offset)
    for reader in (a, plain):
        assert reader.pread(BLOCK, offset) == patterned(seed)

# A reader that wants no fragments (DF) gets one.
pieces = []
a.pread_structured(2 * BLOCK, 0, lambda buf, at, status, err: pieces.append((at, len(buf))), nbd.CMD_FLAG_DF)
assert pieces == [(0, 2 * BLOCK)], pieces

# Block status covers what was asked and tells holes from data.
extents = []
a.block_status(SIZE, 0, lambda context, offset, entries, err: extents.extend(entries))
lengths, flags = extents[0::2], extents[1::2]
assert sum(lengths) == SIZE, lengths
assert flags[0] == 0 and lengths[0] >= 2 * BLOCK, extents
assert flags[-1] == nbd.STATE_HOLE | nbd.STATE_ZERO, extents

# Promises: FUA on each kind of write, zeroes that read as zeroes, a trim that may.
a.pwrite(patterned(2), 4 * BLOCK, nbd.CMD_FLAG_FUA)
a.zero(BLOCK, 4 * BLOCK, nbd.CMD_FLAG_FUA)
assert a.pread(BLOCK, 4 * BLOCK) == bytes(BLOCK)
a.zero(BLOCK, 5 * BLOCK, nbd.CMD_FLAG_NO_HOLE)
assert a.pread(BLOCK, 5 * BLOCK) == bytes(BLOCK)
a.trim(BLOCK, BLOCK, nbd.CMD_FLAG_FUA)
a.cache(BLOCK, 0)

# Two connections are one disk (multi-conn): what one wrote the other reads, and a flush of either
# covers both.
b = connect()
assert a.can_multi_conn()
a.pwrite(patterned(3), 8 * BLOCK)
b.flush()
assert b.pread(BLOCK, 8 * BLOCK) == patterned(3)

# Mistakes get the protocol's errors, and the connection goes on.
wrong = connect(strict=False)
fails(errno.ENOSPC, lambda: wrong.pwrite(patterned(4), SIZE))
fails(errno.ENOSPC, lambda: wrong.pwrite(patterned(4, 2 * BLOCK), SIZE - BLOCK))
fails(errno.ENOSPC, lambda: wrong.zero(BLOCK, SIZE))
fails(errno.EINVAL, lambda: wrong.pread(BLOCK, SIZE))
fails(errno.EINVAL, lambda: wrong.trim(BLOCK, SIZE))
fails(errno.EINVAL, lambda: wrong.pread(BLOCK, 1))
fails(errno.EINVAL, lambda: wrong.pwrite(b"x", 0))
assert wrong.pread(BLOCK, 8 * BLOCK) == patterned(3)

# Sixty-four requests at once, each answered once with its own bytes, in whatever order.
buffers = {}
for at in range(64):
    a.pwrite(patterned(at), at * BLOCK)
for at in range(64):
    buffer = nbd.Buffer(BLOCK)
    buffers[a.aio_pread(buffer, at * BLOCK)] = (at, buffer)
while a.aio_in_flight() > 0:
    a.poll(-1)
for cookie, (at, buffer) in buffers.items():
    assert a.aio_command_completed(cookie)
    assert bytes(buffer.to_bytearray()) == patterned(at), at

for h in (a, plain, b, wrong):
    h.shutdown()
print("the conversation is over")
