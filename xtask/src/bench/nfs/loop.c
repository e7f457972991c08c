/* A loop over libnfs: requests of one size at random places of one file, so many at a time, each
 * one made when another ends. A COMMIT is one of so many, as a flush of fio's is. Built and run by
 * `cargo xtask bench nfs`.
 *
 *   loop URL read|write SECONDS DEPTH BLOCK BYTES COMMIT_EVERY
 *
 * URL is as libnfs has it: nfs://SERVER/EXPORT/FILE?version=4. Prints requests that ended, without COMMITs, seconds, and seconds of
 * processor time in that time.
 */
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct nfs_context *nfs;
static struct nfsfh *file;
static int writes, over;
static uint64_t depth, block, blocks, commit_every, done, written, under_way;
static uint64_t state = 88172645463325252ull;
static char *data;

static void fail(const char *what) {
	fprintf(stderr, "%s: %s\n", what, nfs_get_error(nfs));
	exit(1);
}

static uint64_t drawn(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void ask(void);

static void committed(int result, struct nfs_context *context, void *got, void *unused) {
	if (result < 0)
		fail("COMMIT");
	under_way--;
	if (!over)
		ask();
}

static void ended(int result, struct nfs_context *context, void *got, void *unused) {
	if (result != (int)block)
		fail("a request");
	under_way--;
	done++;
	if (writes && commit_every && ++written % commit_every == 0) {
		under_way++;
		if (nfs_fsync_async(nfs, file, committed, NULL))
			fail("ask for COMMIT");
	} else if (!over) {
		ask();
	}
}

static void ask(void) {
	uint64_t at = drawn() % blocks * block;
	int failed = writes ? nfs_pwrite_async(nfs, file, at, block, data, ended, NULL)
			    : nfs_pread_async(nfs, file, at, block, ended, NULL);
	if (failed)
		fail("ask");
	under_way++;
}

static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double used(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **words) {
	if (count != 8)
		return 2;
	writes = !strcmp(words[2], "write");
	depth = strtoull(words[4], NULL, 10);
	block = strtoull(words[5], NULL, 10);
	blocks = strtoull(words[6], NULL, 10) / block;
	commit_every = strtoull(words[7], NULL, 10);
	data = malloc(block);
	for (uint64_t i = 0; i < block; i++)
		data[i] = drawn();
	nfs = nfs_init_context();
	struct nfs_url *url = nfs_parse_url_full(nfs, words[1]);
	if (!url)
		fail("the URL");
	if (nfs_mount(nfs, url->server, url->path))
		fail("mount");
	if (nfs_open(nfs, url->file, writes ? O_RDWR : O_RDONLY, &file))
		fail("open");
	double before = used(), start = seconds(), end = start + atof(words[3]);
	for (uint64_t i = 0; i < depth; i++)
		ask();
	while (under_way) {
		struct pollfd ready = {.fd = nfs_get_fd(nfs), .events = nfs_which_events(nfs)};
		if (poll(&ready, 1, 1000) < 0 || nfs_service(nfs, ready.revents) < 0)
			fail("the connection");
		over = over || seconds() >= end;
	}
	printf("%llu %f %f\n", (unsigned long long)done, seconds() - start, used() - before);
	return 0;
}
