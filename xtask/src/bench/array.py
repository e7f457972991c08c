# The same trace through libcachesim, read and replayed by its own compiled code: a line a policy,
# share of misses, requests a second.
import sys
import time

import libcachesim as l

path = sys.argv[1]
SIZE = 2000
count = sum(1 for _ in open(path))
for name, kind in (("s3fifo", "S3FIFO"), ("twoq", "TwoQ"), ("sieve", "Sieve")):
    best, missed = float("inf"), 0.0
    for _ in range(3):
        cache = getattr(l, kind)(cache_size=SIZE)
        params = l.ReaderInitParam(ignore_obj_size=True)
        reader = l.TraceReader(trace=path, trace_type=l.TraceType.PLAIN_TXT_TRACE, reader_init_params=params)
        start = time.perf_counter()
        missed, _ = cache.process_trace(reader)
        best = min(best, time.perf_counter() - start)
    print(name, missed, count / best)
