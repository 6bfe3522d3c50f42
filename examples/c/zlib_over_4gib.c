/* zlib on stream pointers: compressed and decompressed in one go, as if everything were in memory.
 *
 *     zlib_over_4gib [BYTES] [LEVEL]        default 4.5 GiB, level 0 (stored: the compressed stream is > 4 GiB too)
 *
 *     write ──plain──▶ deflate ──packed──▶ inflate ──again──▶ crc32
 *
 * Four threads, three streams. deflate and inflate each see one long input and one long output buffer; zlib's counts
 * of 32 bits are refilled, its pointers never reset. Both look back 32 KiB in what they have read or written, which
 * the windows allow. At the end of each call inflate goes once more over all that the call has put out, for the check
 * sum: so what it is told of its output must fit the writer's window, one block and the one being written.
 */
#define _POSIX_C_SOURCE 200809L
#include <eagre.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

/* How much zlib is told about at a time. */
static const uint64_t PIECE = UINT64_C(1) << 30;
/* How much inflate may put out in one call: a block. */
static const uint64_t OUTPUT = UINT64_C(2) << 20;

struct stage {
    EagreReader *from;
    EagreWriter *to;
    uint64_t length; /* of the plain bytes */
    int level;
    uint64_t written;
    uLong crc;
    int failed;
};

static void report(struct stage *stage, const char *who, const char *why) {
    fprintf(stderr, "zlib_over_4gib: %s: %s\n", who, why);
    stage->failed = 1;
}

/* Ends a stage: its output is complete, or its streams fail. */
static void *end(struct stage *stage, const char *who) {
    if (stage->failed && stage->to != NULL) eagre_writer_fail(stage->to, who);
    if (!stage->failed && stage->from != NULL && eagre_reader_check(stage->from) != EAGRE_OK)
        report(stage, who, eagre_last_error());
    if (!stage->failed && stage->to != NULL && eagre_writer_finish_at(stage->to, stage->written) != EAGRE_OK)
        report(stage, who, eagre_last_error());
    eagre_reader_close(stage->from);
    eagre_writer_close(stage->to);
    return NULL;
}

/* Words from a small random number generator, each twice, so that there is something to compress. */
static void *write_plain(void *argument) {
    enum { CHUNK = 64 << 10 };
    struct stage *stage = argument;
    unsigned char *out = eagre_writer_pointer(stage->to);
    uint64_t state = 88172645463325252u, words[CHUNK / sizeof(uint64_t)];
    if (out == NULL) return report(stage, "write", eagre_last_error()), end(stage, "write");
    for (uint64_t at = 0; at < stage->length; at += CHUNK) {
        for (size_t i = 0; i < CHUNK / sizeof *words; i += 2) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            words[i] = words[i + 1] = state;
        }
        const uint64_t left = stage->length - at, now = left < CHUNK ? left : CHUNK;
        memcpy(out + at, words, now);
        stage->crc = crc32(stage->crc, out + at, (uInt)now);
    }
    stage->written = stage->length;
    return end(stage, "write");
}

static void *pack(void *argument) {
    struct stage *stage = argument;
    z_stream z = {0};
    z.next_in = eagre_reader_pointer(stage->from);
    z.next_out = eagre_writer_pointer(stage->to);
    if (z.next_in == NULL || z.next_out == NULL) return report(stage, "deflate", eagre_last_error()), end(stage, "deflate");
    if (deflateInit(&z, stage->level) != Z_OK) return report(stage, "deflate", "no memory"), end(stage, "deflate");
    uint64_t left = stage->length;
    int code = Z_OK;
    while (code == Z_OK) {
        if (z.avail_in == 0) {
            z.avail_in = (uInt)(left < PIECE ? left : PIECE);
            left -= z.avail_in;
        }
        if (z.avail_out == 0) z.avail_out = (uInt)PIECE;
        code = deflate(&z, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    }
    stage->written = z.total_out;
    if (code != Z_STREAM_END) report(stage, "deflate", z.msg != NULL ? z.msg : zError(code));
    deflateEnd(&z);
    return end(stage, "deflate");
}

static void *unpack(void *argument) {
    struct stage *stage = argument;
    z_stream z = {0};
    z.next_in = eagre_reader_pointer(stage->from);
    z.next_out = eagre_writer_pointer(stage->to);
    if (z.next_in == NULL || z.next_out == NULL) return report(stage, "inflate", eagre_last_error()), end(stage, "inflate");
    if (inflateInit(&z) != Z_OK) return report(stage, "inflate", "no memory"), end(stage, "inflate");
    int code = Z_OK;
    while (code == Z_OK) {
        /* The end is marked in the data: inflate reads no byte after it, however much it is told there were. */
        if (z.avail_in == 0) z.avail_in = (uInt)PIECE;
        if (z.avail_out == 0) z.avail_out = (uInt)OUTPUT;
        code = inflate(&z, Z_NO_FLUSH);
    }
    stage->written = z.total_out;
    if (code != Z_STREAM_END) report(stage, "inflate", z.msg != NULL ? z.msg : zError(code));
    inflateEnd(&z);
    return end(stage, "inflate");
}

static void *check(void *argument) {
    struct stage *stage = argument;
    const Bytef *in = eagre_reader_pointer(stage->from);
    if (in == NULL) return report(stage, "check", eagre_last_error()), end(stage, "check");
    for (uint64_t at = 0; at < stage->length; at += PIECE) {
        const uint64_t left = stage->length - at;
        stage->crc = crc32(stage->crc, in + at, (uInt)(left < PIECE ? left : PIECE));
    }
    return end(stage, "check");
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv) {
    static void *(*const RUN[4])(void *) = {write_plain, pack, unpack, check};
    static const char *const NAMES[3] = {"plain", "packed", "again"};
    struct stage stages[4] = {{0}};
    pthread_t threads[4];
    const uint64_t length = argc > 1 ? strtoull(argv[1], NULL, 0) : UINT64_C(9) << 29;
    const double start = now();
    for (int i = 0; i < 4; i++) {
        stages[i].length = length;
        stages[i].level = argc > 2 ? atoi(argv[2]) : 0;
        stages[i].crc = crc32(0, NULL, 0);
    }
    for (int i = 0; i < 3; i++) {
        EagreOptions options;
        eagre_options_default(&options, sizeof options);
        options.name = NAMES[i];
        if (eagre_open(&options, &stages[i].to, &stages[i + 1].from) != EAGRE_OK) {
            report(&stages[i], "open", eagre_last_error());
            return 2;
        }
    }
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, RUN[i], &stages[i]) != 0) return 2;
    }
    int failed = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        failed |= stages[i].failed;
    }
    if (failed) return 2;
    const double seconds = now() - start;
    if (stages[2].written != length || stages[0].crc != stages[3].crc) {
        fprintf(stderr, "zlib_over_4gib: %" PRIu64 " bytes came out, crc %08lx; %" PRIu64 " went in, crc %08lx\n",
                stages[2].written, stages[3].crc, length, stages[0].crc);
        return 1;
    }
    printf("%" PRIu64 " bytes, %" PRIu64 " packed, crc %08lx, %.2f s\n", length, stages[1].written, stages[3].crc, seconds);
    return 0;
}
