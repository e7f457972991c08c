# A trace, a page's number a line, through libcachesim, read and replayed by its own compiled code:
# a line a policy and size with the share of misses and requests a second, the best of so many
# rounds.
import sys
import time

import libcachesim as l

path, rounds, sizes = sys.argv[1], int(sys.argv[2]), [int(size) for size in sys.argv[3:]]
count = sum(1 for _ in open(path))
for name, kind in (("s3fifo", "S3FIFO"), ("twoq", "TwoQ"), ("sieve", "Sieve"), ("lru", "LRU")):
    for size in sizes:
        best, missed = float("inf"), 0.0
        for _ in range(rounds):
            cache = getattr(l, kind)(cache_size=size)
            params = l.ReaderInitParam(ignore_obj_size=True)
            reader = l.TraceReader(trace=path, trace_type=l.TraceType.PLAIN_TXT_TRACE, reader_init_params=params)
            start = time.perf_counter()
            missed, _ = cache.process_trace(reader)
            best = min(best, time.perf_counter() - start)
        print(name, size, missed, count / best)
