# A client of NBD for scripts of tests and benches, which stand behind it in one text: a connection
# as the protocol has had it since 2011, an export by its name and no options, and reads of 4 KiB.
# It shares no code with the server.

import socket
import struct
import threading
import time

NBD_BLOCK = 4096


class Nbd:
    def __init__(self, path, export):
        self.wire = socket.socket(socket.AF_UNIX)
        self.wire.settimeout(60)
        self.wire.connect(path)
        assert self.whole(16) == b"NBDMAGICIHAVEOPT"
        flags = struct.unpack(">H", self.whole(2))[0] & 3
        name = export.encode()
        self.wire.sendall(struct.pack(">I", flags) + b"IHAVEOPT" + struct.pack(">II", 1, len(name)) + name)
        self.whole(10 if flags & 2 else 134)

    def whole(self, length):
        data = bytearray()
        while len(data) < length:
            part = self.wire.recv(length - len(data))
            assert part, "the server closed the connection"
            data += part
        return bytes(data)

    def ask(self, number):
        """A read of the block of that number, of the first MiBs."""
        place = number % 1024 * NBD_BLOCK
        self.wire.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, number, place, NBD_BLOCK))

    def answer(self):
        magic, error, number = struct.unpack(">IIQ", self.whole(16))
        assert magic == 0x67446698 and error == 0, (hex(magic), error)
        return number, self.whole(NBD_BLOCK)


class Reader:
    """Reads at a queue depth on a thread of its own, and keeps when each read ended."""

    def __init__(self, path, export, depth):
        self.nbd, self.depth, self.ended, self.stops, self.failure = Nbd(path, export), depth, [], False, None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            for number in range(self.depth):
                self.nbd.ask(number)
            asked, outstanding = self.depth, self.depth
            while outstanding:
                self.nbd.answer()
                self.ended.append(time.monotonic())
                outstanding -= 1
                if not self.stops:
                    self.nbd.ask(asked)
                    asked += 1
                    outstanding += 1
        except Exception as failure:
            self.failure = failure
        self.nbd.wire.close()

    def goes_on(self, reads=100):
        """Waits until so many more have ended: only a reader that fails or stands still for a minute does not."""
        target = len(self.ended) + reads
        while len(self.ended) < target:
            assert self.failure is None, self.failure
            time.sleep(0.005)

    def stop(self):
        """How many were done in all."""
        self.stops = True
        self.thread.join()
        assert self.failure is None, self.failure
        return len(self.ended)


