# A client that keeps a diary on a LUN: numbered entries of 4 KiB, a flush after each eighth, and a
# line on the output once the flush is answered. Or a reader of it: every entry up to a number must
# be there, as it was written.
#
# diary.py write URI FIRST     until the server is gone
# diary.py read URI LAST

import sys

import nbd

BLOCK = 4096


def entry(number):
    return f"entry {number:08d} ".encode().ljust(64, b".") * (BLOCK // 64)


def write(h, first):
    blocks = h.get_size() // BLOCK
    for number in range(first, blocks):
        h.pwrite(entry(number), number * BLOCK)
        if number % 8 == 7:
            h.flush()
            print("flushed", number, flush=True)


def read(h, last):
    for number in range(last + 1):
        found = h.pread(BLOCK, number * BLOCK)
        assert found == entry(number), f"entry {number} of {last} is {found[:16]}"
    print("all there")


mode, uri, number = sys.argv[1:]
h = nbd.NBD()
h.connect_uri(uri)
try:
    {"write": write, "read": read}[mode](h, int(number))
except nbd.Error as error:
    print("the server is gone:", error)
