/* Streams between processes: this program starts itself again as the other one. Run under every trap and mover, of which these streams
 * know only whether there are pointers. SIGPIPE does what it does in any C program: it would end this one. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 64 << 10, WORDS = 100003 };

static uint64_t word(uint64_t at) { return (at + 1) * 0x9e3779b97f4a7c15ull; }

static EagreOptions small_blocks(void) {
    EagreOptions options;
    IS(eagre_options_default(&options, sizeof options), EAGRE_OK);
    options.block_size = SMALL;
    options.capacity = 64 << 20;
    options.name = "words";
    return options;
}

/* Writes words by a pointer, in blocks or by copying, whatever `way` says and works here. */
static void write_words(EagreWriter *writer, int way) {
    uint64_t *to = way == 0 ? eagre_writer_pointer(writer) : NULL;
    EagreStatus status = EAGRE_OK;
    if (to != NULL) {
        for (uint64_t at = 0; at < WORDS; at++) to[at] = word(at);
        IS(eagre_writer_finish_at(writer, WORDS * sizeof *to), EAGRE_OK);
    } else if (way == 1) {
        uint64_t at = 0;
        while (at < WORDS && status == EAGRE_OK) {
            EagreWriteBlock *block;
            size_t size = 0;
            if ((status = eagre_writer_take(writer, &block)) != EAGRE_OK) break;
            CHECK(eagre_write_block_offset(block) == at * sizeof *to);
            to = eagre_write_block_data(block, &size);
            for (size_t here = 0; here < size / sizeof *to && at < WORDS; here++) to[here] = word(at++);
            status = at < WORDS ? eagre_writer_complete(writer, block) : eagre_writer_put_back(writer, block);
        }
        IS(status, EAGRE_OK);
        IS(eagre_writer_finish_at(writer, WORDS * sizeof *to), EAGRE_OK);
    } else {
        for (uint64_t at = 0; at < WORDS && status == EAGRE_OK; at++) status = eagre_writer_copy_in(writer, &(uint64_t){word(at)}, 8);
        CHECK(eagre_writer_position(writer) == WORDS * 8);
        IS(status, EAGRE_OK);
        IS(eagre_writer_finish(writer), EAGRE_OK);
    }
    IS(eagre_writer_check(writer), EAGRE_OK);
    IS(eagre_writer_finish(writer), EAGRE_INVALID_LENGTH);
    eagre_writer_close(writer);
}

static void read_words(EagreReader *reader, int way) {
    const uint64_t *from = way == 0 ? eagre_reader_pointer(reader) : NULL;
    uint64_t wrong = 0, got = 0, at = 0;
    if (from != NULL) {
        for (; at < WORDS; at++) wrong += from[at] != word(at);
        IS(eagre_reader_check(reader), EAGRE_OK);
        IS(eagre_reader_advance_to(reader, WORDS * sizeof got), EAGRE_OK);
    } else if (way == 1) {
        EagreReadBlock *block = NULL;
        while (eagre_reader_take(reader, &block) == EAGRE_OK && block != NULL) {
            size_t size;
            from = eagre_read_block_data(block, &size);
            CHECK(eagre_read_block_offset(block) == at * sizeof got);
            for (size_t here = 0; here < size / sizeof got; here++) wrong += from[here] != word(at++);
            IS(eagre_reader_release(reader, block), EAGRE_OK);
        }
    } else {
        size_t size = sizeof got;
        while (size == sizeof got && eagre_reader_copy_out(reader, &got, sizeof got, &size) == EAGRE_OK && size != 0) {
            if (at == 7) IS(eagre_reader_finish(reader), EAGRE_INVALID); /* Not yet. */
            wrong += got != word(at++);
        }
    }
    CHECK(wrong == 0 && at == WORDS);
    IS(eagre_reader_finish(reader), EAGRE_OK);
    CHECK(eagre_reader_length(reader) == WORDS * sizeof got && eagre_reader_position(reader) == WORDS * sizeof got);
    eagre_reader_close(reader);
}

/* ---- the other process ---- */

static void sleep_until_killed(void) {
    fflush(stdout);
    for (;;) pause();
}

static int other_process(int connection, const char *part, int way) {
    EagreOptions options = small_blocks();
    EagreWriter *writer = NULL;
    EagreReader *reader = NULL;
    if (strcmp(part, "join to read") == 0) {
        IS(eagre_process_join_reader(connection, &reader), EAGRE_OK);
        read_words(reader, way);
    } else if (strcmp(part, "join to write") == 0) {
        IS(eagre_process_join_writer(connection, &writer), EAGRE_OK);
        write_words(writer, way);
    } else if (strcmp(part, "few addresses") == 0) {
        /* The other end's pointer reaches further: there is none here, and not a shorter one. */
        const char *const trap = getenv("EAGRE_TRAP");
        struct rlimit few;
        CHECK(getrlimit(RLIMIT_AS, &few) == 0);
        few.rlim_cur = 1 << 30;
        CHECK(setrlimit(RLIMIT_AS, &few) == 0);
        IS(eagre_process_join_reader(connection, &reader), EAGRE_OK);
        CHECK(eagre_reader_pointer(reader) == NULL);
        if (trap == NULL || strcmp(trap, "off") != 0) CHECK(strstr(eagre_last_error(), "; name a smaller capacity") != NULL);
        read_words(reader, way);
    } else if (strcmp(part, "make to write") == 0) {
        IS(eagre_process_make_writer(connection, &options, &writer), EAGRE_OK);
        write_words(writer, way);
    } else if (strcmp(part, "read and sleep") == 0) {
        char out[10];
        IS(eagre_process_join_reader(connection, &reader), EAGRE_OK);
        IS(eagre_reader_copy_out(reader, out, sizeof out, NULL), EAGRE_OK);
        sleep_until_killed();
    } else if (strcmp(part, "write and sleep") == 0) {
        static const char block[SMALL];
        IS(eagre_process_join_writer(connection, &writer), EAGRE_OK);
        IS(eagre_writer_copy_in(writer, block, sizeof block), EAGRE_OK);
        sleep_until_killed();
    } else if (strcmp(part, "give up") == 0) {
        IS(eagre_process_join_writer(connection, &writer), EAGRE_OK);
        IS(eagre_writer_fail(writer, "the disk is on fire"), EAGRE_OK);
        eagre_writer_close(writer);
    } else if (strcmp(part, "connect") == 0) {
        IS(eagre_process_connect("prices", &connection), EAGRE_OK);
        IS(eagre_process_join_reader(connection, &reader), EAGRE_OK);
        read_words(reader, way);
    }
    return failures == 0 ? 0 : 1;
}

/* ---- this process ---- */

static pid_t child;

/* Starts the other process, which gets its side as standard input or by its number. Returns ours. */
static int start(const char *part, int way, int by_number) {
    int ours, theirs;
    char number[16], ways[16];
    IS(eagre_process_pair(&ours, &theirs), EAGRE_OK);
    CHECK((fcntl(ours, F_GETFD) & FD_CLOEXEC) && (fcntl(theirs, F_GETFD) & FD_CLOEXEC));
    snprintf(number, sizeof number, "%d", by_number ? theirs : 0);
    snprintf(ways, sizeof ways, "%d", way);
    if ((child = fork()) == 0) {
        if (by_number)
            fcntl(theirs, F_SETFD, 0);
        else
            dup2(theirs, 0);
        execl("/proc/self/exe", "process", number, part, ways, (char *)NULL);
        _exit(127);
    }
    close(theirs);
    return ours;
}

static void succeeds(void) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void words_arrive(void) {
    EagreOptions options = small_blocks();
    for (int way = 0; way < 9; way++) {
        EagreWriter *writer;
        EagreReader *reader;
        int ours = start("join to read", way / 3, way & 1);
        IS(eagre_process_make_writer(ours, &options, &writer), EAGRE_OK);
        write_words(writer, way % 3);
        succeeds();
        ours = start("join to write", way / 3, way & 1);
        IS(eagre_process_make_reader(ours, &options, &reader), EAGRE_OK);
        read_words(reader, way % 3);
        succeeds();
    }
    /* With the default options, and made there: the writer may end before anybody reads. */
    EagreReader *reader;
    EagreWriter *writer;
    const int ours = start("make to write", 2, 0);
    IS(eagre_process_join_reader(ours, &reader), EAGRE_OK);
    read_words(reader, 2);
    succeeds();
    const int other = start("join to read", 1, 0);
    IS(eagre_process_make_writer(other, NULL, &writer), EAGRE_OK);
    write_words(writer, 1);
    succeeds();
}

static void questions_take_them(void) {
    EagreOptions options = small_blocks();
    EagreReader *reader;
    EagreCounts counts;
    uint64_t lines = 0;
    for (uint64_t at = 0; at < WORDS; at++)
        for (uint64_t left = word(at); left != 0; left >>= 8) lines += (left & 255) == '\n';
    IS(eagre_process_make_reader(start("join to write", 2, 0), &options, &reader), EAGRE_OK);
    IS(eagre_count_stream(reader, EAGRE_LINES, &counts, sizeof counts), EAGRE_OK);
    CHECK(counts.lines == lines && counts.bytes == WORDS * 8);
    eagre_reader_close(reader);
    succeeds();
}

static void by_name(void) {
    EagreProcessListener *listener, *second;
    EagreOptions options = small_blocks();
    EagreWriter *writer;
    int connection;
    IS(eagre_process_connect("prices", &connection), EAGRE_UNAVAILABLE);
    CHECK(connection == -1 && strstr(eagre_last_error(), "nobody listens as") != NULL);
    IS(eagre_process_listener_open("a/b", &listener), EAGRE_SETTING);
    IS(eagre_process_listener_open("prices", &listener), EAGRE_OK);
    IS(eagre_process_listener_open("prices", &second), EAGRE_UNAVAILABLE);
    IS(eagre_process_listener_accept(listener, 1, &connection), EAGRE_TIMED_OUT);
    for (int way = 0; way < 3; way++) {
        const int unused = start("connect", way, 0);
        IS(eagre_process_listener_accept(listener, 0, &connection), EAGRE_OK);
        IS(eagre_process_make_writer(connection, &options, &writer), EAGRE_OK);
        write_words(writer, way);
        succeeds();
        close(unused);
    }
    eagre_process_listener_close(listener);
    IS(eagre_process_connect("prices", &connection), EAGRE_UNAVAILABLE);
}

static void few_addresses(void) {
    EagreOptions options = small_blocks();
    EagreWriter *writer;
    options.capacity = UINT64_C(1) << 32;
    IS(eagre_process_make_writer(start("few addresses", 2, 0), &options, &writer), EAGRE_OK);
    write_words(writer, 0);
    succeeds();
}

static void *kill_child(void *unused) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return unused;
}

/* The other process is killed while this one waits for it, or a moment before. */
static void killed(void) {
    static const char piece[SMALL];
    for (int way = 0; way < 2; way++) {
        EagreOptions options = small_blocks();
        EagreWriter *writer;
        EagreReader *reader;
        EagreControl *control;
        EagreStatus status = EAGRE_OK;
        pthread_t killer;
        char out[SMALL + 1];
        IS(eagre_process_make_writer(start("read and sleep", 0, 0), &options, &writer), EAGRE_OK);
        IS(eagre_writer_copy_in(writer, piece, sizeof piece), EAGRE_OK);
        if (pthread_create(&killer, NULL, kill_child, NULL) != 0) exit(2);
        if (way == 1) pthread_join(killer, NULL);
        while (status == EAGRE_OK) status = eagre_writer_copy_in(writer, piece, sizeof piece);
        IS(status, EAGRE_READER_GONE);
        CHECK(strstr(eagre_last_error(), "its process has ended, or runs another program") != NULL);
        IS(eagre_writer_finish(writer), EAGRE_READER_GONE);
        if (way == 0) pthread_join(killer, NULL);
        IS(eagre_writer_control(writer, &control), EAGRE_OK);
        IS(eagre_control_check(control), EAGRE_READER_GONE);
        eagre_writer_close(writer);
        IS(eagre_control_check(control), EAGRE_CLOSED);
        eagre_control_close(control);

        IS(eagre_process_make_reader(start("write and sleep", 0, 0), &options, &reader), EAGRE_OK);
        /* What it had published is read first. */
        IS(eagre_reader_copy_out(reader, out, SMALL, NULL), EAGRE_OK);
        if (pthread_create(&killer, NULL, kill_child, NULL) != 0) exit(2);
        if (way == 1) pthread_join(killer, NULL);
        IS(eagre_reader_copy_out(reader, out, 1, NULL), EAGRE_WRITER_GONE);
        CHECK(strstr(eagre_last_error(), "its process has ended, or runs another program") != NULL);
        IS(eagre_reader_check(reader), EAGRE_WRITER_GONE);
        if (way == 0) pthread_join(killer, NULL);
        eagre_reader_close(reader);
    }
}

static void gives_up(void) {
    EagreReader *reader;
    char out[1];
    IS(eagre_process_make_reader(start("give up", 0, 0), NULL, &reader), EAGRE_OK);
    IS(eagre_reader_copy_out(reader, out, 1, NULL), EAGRE_WRITER_FAILED);
    CHECK(strstr(eagre_last_error(), "the disk is on fire") != NULL);
    eagre_reader_close(reader);
    succeeds();
    IS(eagre_process_join_reader(start("nothing", 0, 0), &reader), EAGRE_UNAVAILABLE);
    CHECK(reader == NULL && strstr(eagre_last_error(), "before it made the stream") != NULL);
    succeeds();
}

static void watched(void) {
    EagreOptions options = small_blocks();
    EagreStats stats;
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    int ours, theirs;
    char out[10];
    IS(eagre_process_pair(&ours, &theirs), EAGRE_OK);
    IS(eagre_process_make_writer(ours, &options, &writer), EAGRE_OK);
    IS(eagre_process_join_reader(theirs, &reader), EAGRE_OK);
    IS(eagre_writer_control(writer, &control), EAGRE_OK);
    for (int at = 0; at < 3; at++) IS(eagre_writer_copy_in(writer, (char[SMALL]){0}, SMALL), EAGRE_OK);
    IS(eagre_control_stats(control, &stats, sizeof stats), EAGRE_OK);
    CHECK(stats.writer_blocks == 3 && stats.published == 3 && stats.released == 0 && stats.writer_position == 3 * SMALL);
    CHECK(stats.most == 5 && stats.reader_blocks == 0 && stats.trap == EAGRE_TRAP_SIGNAL && stats.mover == EAGRE_MOVER_REMAP);
    CHECK(eagre_control_capacity(control) >= 64 << 20);
    IS(eagre_control_cancel(control), EAGRE_OK);
    IS(eagre_writer_finish(writer), EAGRE_CANCELLED);
    IS(eagre_reader_copy_out(reader, out, sizeof out, NULL), EAGRE_CANCELLED);
    eagre_writer_close(writer);
    IS(eagre_control_stats(control, &stats, sizeof stats), EAGRE_CLOSED);
    eagre_control_close(control);
    eagre_reader_close(reader);
}

/* Opening ends like this, and the connection is closed. */
static void opens_so(EagreOptions *options, EagreStatus status) {
    EagreWriter *writer = (EagreWriter *)&failures;
    int ours, theirs;
    IS(eagre_process_pair(&ours, &theirs), EAGRE_OK);
    IS(eagre_process_make_writer(ours, options, &writer), status);
    CHECK((writer != NULL) == (status == EAGRE_OK));
    eagre_writer_close(writer);
    CHECK(fcntl(ours, F_GETFD) == -1);
    close(theirs);
}

static void misused(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreOptions options;
    int ours = 0, theirs = 0;
    IS(eagre_process_pair(NULL, &theirs), EAGRE_INVALID);
    IS(eagre_process_pair(&ours, NULL), EAGRE_INVALID);
    CHECK(ours == -1 && theirs == -1);
    IS(eagre_process_connect(NULL, &ours), EAGRE_INVALID);
    IS(eagre_process_connect("x", NULL), EAGRE_INVALID);
    IS(eagre_process_listener_open(NULL, &(EagreProcessListener *){NULL}), EAGRE_INVALID);
    IS(eagre_process_listener_accept(NULL, 1, &ours), EAGRE_INVALID);
    eagre_process_listener_close(NULL);
    for (int number = -3; number < 3; number += number == -1 ? 2 : 1) {
        IS(eagre_process_make_writer(number, NULL, &writer), EAGRE_INVALID);
        IS(eagre_process_join_reader(number, &reader), EAGRE_INVALID);
    }
    IS(eagre_process_make_reader(1000000, NULL, &reader), EAGRE_INVALID);
    IS(eagre_process_join_writer(open("/dev/null", O_RDWR), &writer), EAGRE_UNAVAILABLE);
    CHECK(strstr(eagre_last_error(), "pass a Connection to this process") != NULL);
    IS(eagre_process_pair(&ours, &theirs), EAGRE_OK);
    IS(eagre_process_join_writer(ours, NULL), EAGRE_INVALID);
    close(theirs);
    for (int field = 0; field < 8; field++) {
        options = small_blocks();
        if (field == 0) options.flags = EAGRE_POISON;
        if (field == 1) options.length = 5;
        if (field == 2) options.trap = EAGRE_TRAP_OFF;
        if (field == 3) options.mover = EAGRE_MOVER_MOVE;
        if (field == 4) options.pool = (EagrePool *)&failures;
        if (field == 5) options.block_size = 1000;
        if (field == 6) options.lookback = 61;
        if (field == 7) options.trap = EAGRE_TRAP_SIGNAL, options.mover = EAGRE_MOVER_REMAP;
        opens_so(&options, field == 7 ? EAGRE_OK : EAGRE_SETTING);
    }
    const char *trap = getenv("EAGRE_TRAP");
    options = small_blocks();
    options.flags = EAGRE_POINTERS;
    opens_so(&options, trap != NULL && strcmp(trap, "off") == 0 ? EAGRE_UNAVAILABLE : EAGRE_OK);
    options.version = 9;
    opens_so(&options, EAGRE_WRONG_VERSION);
}

int main(int argc, char **argv) {
    if (argc == 4) return other_process(atoi(argv[1]), argv[2], atoi(argv[3]));
    char folder[] = "names-XXXXXX";
    char path[4096];
    if (mkdtemp(folder) == NULL || realpath(folder, path) == NULL) return 2;
    setenv("XDG_RUNTIME_DIR", path, 1);
    words_arrive();
    questions_take_them();
    by_name();
    few_addresses();
    killed();
    gives_up();
    watched();
    misused();
    return report();
}
