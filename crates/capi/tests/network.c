/* Streams between hosts, over loopback: what arrives, who is refused, and what an end is told when the other one goes. Run under
 * every trap and mover. SIGPIPE does what it does in any C program: it would end this one. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 64 << 10 };

/* A busy machine is not mistaken for a dead one. */
static EagreNetworkOptions patient(const char *token) {
    EagreNetworkOptions options;
    IS(eagre_network_options_default(&options, sizeof options), EAGRE_OK);
    options.retry_ns = 60ull * 1000000000;
    options.silence_ns = 60ull * 1000000000;
    options.block_size = SMALL;
    options.window = 4 * SMALL;
    options.token = token;
    options.token_size = token == NULL ? 0 : strlen(token);
    return options;
}

static EagreListener *listen_with(const EagreNetworkOptions *options, char address[64]) {
    EagreListener *listener = NULL;
    if (eagre_listener_open("127.0.0.1:0", options, &listener) != EAGRE_OK) {
        fprintf(stderr, "listen: %s\n", eagre_last_error());
        exit(2);
    }
    const size_t length = eagre_listener_address(listener, address, 64);
    CHECK(length == strlen(address) && strncmp(address, "127.0.0.1:", 10) == 0 && strcmp(address + 10, "0") != 0);
    return listener;
}

/* The side that calls, in a thread. */
struct Caller {
    char address[64];
    EagreNetworkOptions options;
    EagreWriter *writer;
    EagreReader *reader;
    EagreStatus status;
    char message[1024];
};

static void *call_to_write(void *context) {
    struct Caller *caller = context;
    caller->status = eagre_connect_writer(caller->address, "stream", &caller->options, &caller->writer);
    strcpy(caller->message, eagre_last_error());
    return NULL;
}

static void *call_to_read(void *context) {
    struct Caller *caller = context;
    caller->status = eagre_connect_reader(caller->address, "stream", &caller->options, &caller->reader);
    strcpy(caller->message, eagre_last_error());
    return NULL;
}

static pthread_t start(void *(*run)(void *), void *context) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, context) != 0) exit(2);
    return thread;
}

/* Opens a stream, whose writer is the side that calls or the other one. */
static void open_stream(const char *token, int calls, EagreWriter **writer, EagreReader **reader) {
    struct Caller caller = {.options = patient(token)};
    EagreListener *listener = listen_with(&caller.options, caller.address);
    pthread_t thread = start(calls ? call_to_write : call_to_read, &caller);
    *writer = NULL, *reader = NULL;
    if (calls)
        IS(eagre_listener_reader(listener, "stream", 0, reader), EAGRE_OK);
    else
        IS(eagre_listener_writer(listener, "stream", 0, writer), EAGRE_OK);
    pthread_join(thread, NULL);
    if (caller.status != EAGRE_OK) {
        fprintf(stderr, "connect: %s\n", caller.message);
        exit(2);
    }
    if (calls)
        *writer = caller.writer;
    else
        *reader = caller.reader;
    /* Streams that are open go on. */
    eagre_listener_close(listener);
}

static uint64_t word(uint64_t at) { return (at + 1) * 0x9e3779b97f4a7c15ull; }

enum { WORDS = 100003 };

static void *produce(void *context) {
    EagreWriter *writer = context;
    uint64_t *to = eagre_writer_pointer(writer);
    if (to != NULL) {
        for (uint64_t at = 0; at < WORDS; at++) to[at] = word(at);
        IS(eagre_writer_finish_at(writer, WORDS * sizeof *to), EAGRE_OK);
    } else {
        for (uint64_t at = 0; at < WORDS; at++) {
            const uint64_t next = word(at);
            IS(eagre_writer_copy_in(writer, &next, sizeof next), EAGRE_OK);
        }
        IS(eagre_writer_finish(writer), EAGRE_OK);
    }
    IS(eagre_writer_finish(writer), EAGRE_INVALID_LENGTH);
    eagre_writer_close(writer);
    return NULL;
}

static void bytes_arrive(void) {
    static const char *const tokens[] = {NULL, "not a secret, but long enough"};
    for (int way = 0; way < 8; way++) {
        EagreWriter *writer;
        EagreReader *reader;
        size_t copied = 0;
        uint64_t got, wrong = 0;
        open_stream(tokens[way & 1], way & 2, &writer, &reader);
        pthread_t producer = start(produce, writer);
        const uint64_t *from = way & 4 ? eagre_reader_pointer(reader) : NULL;
        if (from != NULL) {
            for (uint64_t at = 0; at < WORDS; at++) wrong += from[at] != word(at);
            IS(eagre_reader_check(reader), EAGRE_OK);
            IS(eagre_reader_advance_to(reader, WORDS * sizeof got), EAGRE_OK);
        } else {
            for (uint64_t at = 0; at < WORDS; at++) {
                IS(eagre_reader_copy_out(reader, &got, sizeof got, &copied), EAGRE_OK);
                wrong += copied != sizeof got || got != word(at);
                /* Not yet. */
                if (at == 7) IS(eagre_reader_finish(reader), EAGRE_INVALID);
            }
        }
        CHECK(wrong == 0);
        IS(eagre_reader_finish(reader), EAGRE_OK);
        IS(eagre_reader_finish(reader), EAGRE_CLOSED);
        IS(eagre_reader_copy_out(reader, &got, sizeof got, &copied), EAGRE_CLOSED);
        CHECK(eagre_reader_length(reader) == WORDS * sizeof got && eagre_reader_position(reader) == WORDS * sizeof got);
        eagre_reader_close(reader);
        pthread_join(producer, NULL);
    }
}

static void *finish_only(void *writer) {
    IS(eagre_writer_finish(writer), EAGRE_OK);
    return NULL;
}

static void nothing_arrives(void) {
    EagreWriter *writer;
    EagreReader *reader;
    open_stream(NULL, 1, &writer, &reader);
    pthread_t finisher = start(finish_only, writer);
    IS(eagre_reader_finish(reader), EAGRE_OK);
    pthread_join(finisher, NULL);
    eagre_reader_close(reader);
    eagre_writer_close(writer);
}

static void strangers(void) {
    struct Caller caller = {.options = patient("one secret of many bytes")};
    EagreListener *listener = listen_with(&caller.options, caller.address);
    caller.options = patient("another secret of many bytes");
    call_to_write(&caller);
    CHECK(caller.status == EAGRE_NETWORK && caller.writer == NULL && strstr(caller.message, "same token") != NULL);
    caller.options = patient(NULL);
    call_to_read(&caller);
    CHECK(caller.status == EAGRE_NETWORK && caller.reader == NULL && strstr(caller.message, "same token") != NULL);
    IS(eagre_listener_reader(listener, "stream", 1, &caller.reader), EAGRE_TIMED_OUT);
    IS(eagre_listener_writer(listener, "stream", 1, &caller.writer), EAGRE_TIMED_OUT);
    CHECK(caller.reader == NULL && caller.writer == NULL);
    eagre_listener_close(listener);
    /* Nobody listens at a port that is only taken. */
    struct sockaddr_in taken = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof taken;
    const int quiet = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(quiet, (struct sockaddr *)&taken, size) == 0 && getsockname(quiet, (struct sockaddr *)&taken, &size) == 0);
    snprintf(caller.address, sizeof caller.address, "127.0.0.1:%d", ntohs(taken.sin_port));
    caller.options.retry_ns = 0;
    call_to_write(&caller);
    CHECK(caller.status == EAGRE_NETWORK && strstr(caller.message, "check that the other side runs") != NULL);
    close(quiet);
}

static void the_writer_goes(void) {
    for (int way = 0; way < 4; way++) {
        EagreWriter *writer;
        EagreReader *reader;
        char out[16];
        open_stream(way & 1 ? "not a secret, but long enough" : NULL, way & 2, &writer, &reader);
        IS(eagre_writer_copy_in(writer, "half", 4), EAGRE_OK);
        if (way & 1) IS(eagre_writer_fail(writer, "the disk is on fire"), EAGRE_OK);
        eagre_writer_close(writer);
        IS(eagre_reader_copy_out(reader, out, sizeof out, NULL), EAGRE_SYSTEM);
        if (way & 1) CHECK(strstr(eagre_last_error(), "the disk is on fire") != NULL);
        IS(eagre_reader_finish(reader), EAGRE_NETWORK);
        CHECK(strstr(eagre_last_error(), "the other side gave up") != NULL);
        eagre_reader_close(reader);
    }
}

static void the_reader_goes(void) {
    static const char piece[SMALL];
    for (int way = 0; way < 4; way++) {
        EagreWriter *writer;
        EagreReader *reader;
        EagreStatus status = EAGRE_OK;
        open_stream(way & 1 ? "not a secret, but long enough" : NULL, way & 2, &writer, &reader);
        eagre_reader_close(reader);
        /* More than any window holds. */
        for (int at = 0; at < 4000 && status == EAGRE_OK; at++) status = eagre_writer_copy_in(writer, piece, sizeof piece);
        CHECK(status == EAGRE_SYSTEM);
        IS(eagre_writer_finish(writer), EAGRE_NETWORK);
        eagre_writer_close(writer);
    }
}

enum { CHILDREN = 6 };
static int children[CHILDREN];

/* Processes that will be told an address, read a few bytes from there, and end in the middle of the stream. */
static void beget(void) {
    for (int at = 0; at < CHILDREN; at++) {
        int ends[2];
        if (pipe(ends) != 0) exit(2);
        if (fork() == 0) {
            struct Caller caller = {.options = patient(at & 1 ? "not a secret, but long enough" : NULL)};
            char out[10];
            close(ends[1]);
            if (read(ends[0], caller.address, sizeof caller.address) < (ssize_t)sizeof caller.address) _exit(1);
            call_to_read(&caller);
            if (caller.status == EAGRE_OK) eagre_reader_copy_out(caller.reader, out, sizeof out, NULL);
            _exit(0);
        }
        close(ends[0]);
        children[at] = ends[1];
    }
}

static void the_process_ends(void) {
    static const char piece[SMALL];
    for (int at = 0; at < CHILDREN; at++) {
        EagreNetworkOptions options = patient(at & 1 ? "not a secret, but long enough" : NULL);
        char address[64] = {0};
        EagreWriter *writer;
        EagreStatus status = EAGRE_OK;
        /* Nobody will call again. */
        options.retry_ns = 100000000;
        EagreListener *listener = listen_with(&options, address);
        CHECK(write(children[at], address, sizeof address) == sizeof address);
        close(children[at]);
        IS(eagre_listener_writer(listener, "stream", 0, &writer), EAGRE_OK);
        while (status == EAGRE_OK) status = eagre_writer_copy_in(writer, piece, sizeof piece);
        CHECK(status == EAGRE_SYSTEM);
        IS(eagre_writer_finish(writer), EAGRE_NETWORK);
        CHECK(strstr(eagre_last_error(), "no other connection came about") != NULL);
        eagre_writer_close(writer);
        eagre_listener_close(listener);
    }
    while (wait(NULL) > 0) continue;
}

static void cancelled(void) {
    EagreWriter *writer;
    EagreReader *reader;
    EagreControl *control;
    open_stream(NULL, 1, &writer, &reader);
    IS(eagre_reader_control(reader, &control), EAGRE_OK);
    IS(eagre_control_cancel(control), EAGRE_OK);
    eagre_control_close(control);
    CHECK(eagre_reader_fill(reader, 1, &(size_t){0}) == NULL);
    IS(eagre_last_status(), EAGRE_CANCELLED);
    IS(eagre_reader_finish(reader), EAGRE_CANCELLED);
    eagre_reader_close(reader);
    eagre_writer_close(writer);
}

/* Other streams have an end to check too. */
static void within_a_process(void) {
    EagreWriter *writer;
    EagreReader *reader;
    char out[4];
    open_small(&writer, &reader);
    IS(eagre_writer_copy_in(writer, "text", 4), EAGRE_OK);
    IS(eagre_writer_finish(writer), EAGRE_OK);
    IS(eagre_reader_finish(reader), EAGRE_INVALID);
    IS(eagre_reader_copy_out(reader, out, 4, NULL), EAGRE_OK);
    IS(eagre_reader_finish(reader), EAGRE_OK);
    IS(eagre_reader_finish(reader), EAGRE_OK);
    IS(eagre_reader_finish(NULL), EAGRE_INVALID);
    eagre_writer_close(writer);
    eagre_reader_close(reader);
    open_small(&writer, &reader);
    eagre_writer_close(writer);
    IS(eagre_reader_finish(reader), EAGRE_WRITER_GONE);
    eagre_reader_close(reader);
}

static void *produce_small(void *context) {
    EagreWriter *writer = context;
    for (uint64_t at = 0; at < WORDS; at++) {
        const uint64_t next = word(at);
        IS(eagre_writer_copy_in(writer, &next, sizeof next), EAGRE_OK);
    }
    IS(eagre_writer_finish(writer), EAGRE_OK);
    eagre_writer_close(writer);
    return NULL;
}

/* Reads what produce_small wrote, and the end. */
static void consume_small(EagreReader *reader) {
    uint64_t got, wrong = 0;
    size_t copied = 1;
    for (uint64_t at = 0; at < WORDS; at++) {
        IS(eagre_reader_copy_out(reader, &got, sizeof got, &copied), EAGRE_OK);
        wrong += copied != sizeof got || got != word(at);
    }
    CHECK(wrong == 0);
    IS(eagre_reader_copy_out(reader, &got, sizeof got, &copied), EAGRE_OK);
    CHECK(copied == 0);
    IS(eagre_reader_finish(reader), EAGRE_OK);
    eagre_reader_close(reader);
}

struct Attached {
    struct Caller caller;
    EagreTransfer *transfer;
    EagreWriter *writer;
    EagreReader *reader;
};

static void *call_to_attach(void *context) {
    struct Attached *attached = context;
    struct Caller *caller = &attached->caller;
    if (attached->reader != NULL)
        caller->status = eagre_connect_send_from(caller->address, "stream", &caller->options, attached->reader, &attached->transfer);
    else
        caller->status = eagre_connect_receive_into(caller->address, "stream", &caller->options, attached->writer, &attached->transfer);
    return NULL;
}

/* A stream of this process goes through a connection into another one; the side that sends calls, or the other one, which takes whatever
 * is offered or waits for the name. */
static void streams_are_attached(void) {
    for (int way = 0; way < 4; way++) {
        struct Attached there = {.caller = {.options = patient(way & 1 ? "not a secret, but long enough" : NULL)}};
        EagreListener *listener = listen_with(&there.caller.options, there.caller.address);
        EagreWriter *in, *to;
        EagreReader *from, *out;
        EagreTransfer *here = NULL;
        EagreOffer *offer = NULL;
        uint64_t bytes[2] = {0};
        uint8_t digests[2][32] = {{1}, {2}};
        char text[64];
        const int sends = way & 1, accepts = way & 2;
        open_small(&in, &from);
        open_small(&to, &out);
        there.reader = sends ? NULL : from;
        there.writer = sends ? to : NULL;
        pthread_t caller = start(call_to_attach, &there), producer = start(produce_small, in);
        if (accepts) {
            IS(eagre_listener_accept(listener, 0, &offer), EAGRE_OK);
            CHECK(eagre_offer_name(offer, text, sizeof text) == 6 && strcmp(text, "stream") == 0);
            CHECK(eagre_offer_peer(offer, text, sizeof text) > 10 && strncmp(text, "127.0.0.1:", 10) == 0);
            CHECK(eagre_offer_peer_writes(offer) == !sends);
        }
        if (sends)
            IS(accepts ? eagre_offer_send_from(offer, from, &here) : eagre_listener_send_from(listener, "stream", 0, from, &here), EAGRE_OK);
        else
            IS(accepts ? eagre_offer_receive_into(offer, to, &here) : eagre_listener_receive_into(listener, "stream", 0, to, &here), EAGRE_OK);
        consume_small(out);
        pthread_join(caller, NULL);
        pthread_join(producer, NULL);
        IS(there.caller.status, EAGRE_OK);
        IS(eagre_transfer_join(here, &bytes[0], digests[0]), EAGRE_OK);
        IS(eagre_transfer_join(there.transfer, &bytes[1], digests[1]), EAGRE_OK);
        CHECK(bytes[0] == WORDS * sizeof(uint64_t) && bytes[1] == bytes[0] && memcmp(digests[0], digests[1], 32) == 0);
        eagre_listener_close(listener);
    }
}

/* What is offered may be opened, or refused. */
static void offers(void) {
    for (int way = 0; way < 3; way++) {
        struct Caller caller = {.options = patient(NULL)};
        EagreListener *listener = listen_with(&caller.options, caller.address);
        EagreOffer *offer = (EagreOffer *)"?";
        EagreWriter *writer = NULL;
        EagreReader *reader = NULL;
        IS(eagre_listener_accept(listener, 1, &offer), EAGRE_TIMED_OUT);
        CHECK(offer == NULL);
        pthread_t thread = start(way == 0 ? call_to_write : call_to_read, &caller);
        IS(eagre_listener_accept(listener, 0, &offer), EAGRE_OK);
        if (way == 0)
            IS(eagre_offer_reader(offer, &reader), EAGRE_OK);
        else if (way == 1)
            IS(eagre_offer_writer(offer, &writer), EAGRE_OK);
        else
            eagre_offer_refuse(offer, "not today");
        pthread_join(thread, NULL);
        if (way == 2) {
            CHECK(caller.status == EAGRE_NETWORK && strstr(caller.message, "not today") != NULL);
        } else {
            if (way == 1) reader = caller.reader;
            if (way == 0) writer = caller.writer;
            pthread_t finisher = start(finish_only, writer);
            IS(eagre_reader_finish(reader), EAGRE_OK);
            pthread_join(finisher, NULL);
            eagre_writer_close(writer);
            eagre_reader_close(reader);
        }
        eagre_listener_close(listener);
    }
    EagreWriter *writer, *nothing;
    EagreReader *reader;
    EagreTransfer *transfer;
    const EagreNetworkOptions options = patient(NULL);
    /* The ends are the library's whatever happens: the others see that they have gone. */
    open_small(&writer, &reader);
    IS(eagre_connect_send_from("127.0.0.1", NULL, &options, reader, &transfer), EAGRE_INVALID);
    CHECK(transfer == NULL);
    IS(eagre_writer_copy_in(writer, "text", 4), EAGRE_READER_GONE);
    eagre_writer_close(writer);
    open_small(&writer, &reader);
    IS(eagre_connect_receive_into("127.0.0.1", "", &options, writer, &transfer), EAGRE_SETTING);
    IS(eagre_reader_finish(reader), EAGRE_WRITER_GONE);
    eagre_reader_close(reader);
    IS(eagre_connect_send_from("127.0.0.1", "stream", &options, NULL, &transfer), EAGRE_INVALID);
    IS(eagre_listener_accept(NULL, 1, NULL), EAGRE_INVALID);
    IS(eagre_offer_writer(NULL, &nothing), EAGRE_INVALID);
    IS(eagre_transfer_join(NULL, NULL, NULL), EAGRE_INVALID);
    CHECK(eagre_offer_name(NULL, NULL, 0) == 0 && eagre_offer_peer(NULL, NULL, 0) == 0 && eagre_offer_peer_writes(NULL) == 0);
    eagre_offer_refuse(NULL, NULL);
    eagre_transfer_close(NULL);
}

static void connects_as(const EagreNetworkOptions *options, const char *address, EagreStatus status, const char *words) {
    EagreWriter *writer = (EagreWriter *)"?";
    IS(eagre_connect_writer(address, "stream", options, &writer), status);
    CHECK(writer == NULL && strstr(eagre_last_error(), words) != NULL);
}

static void misuse(void) {
    EagreNetworkOptions options = patient(NULL);
    EagreListener *listener;
    EagreReader *reader;
    char address[64];
    const char *peers[] = {"sha256:nonsense"};

    IS(eagre_network_options_default(NULL, sizeof options), EAGRE_INVALID);
    IS(eagre_network_options_default(&options, 8), EAGRE_WRONG_VERSION);
    options = patient(NULL);
    connects_as(&options, NULL, EAGRE_INVALID, "address");
    connects_as(&options, "host:port", EAGRE_INVALID, "a port is a number");
    connects_as(&options, "192.0.2.1", EAGRE_SETTING, "needs a token or keys");
    IS(eagre_connect_reader("127.0.0.1", NULL, &options, &reader), EAGRE_INVALID);
    IS(eagre_connect_reader("127.0.0.1", "", &options, &reader), EAGRE_SETTING);
    IS(eagre_connect_reader("127.0.0.1", "stream", &options, NULL), EAGRE_INVALID);
    options = patient("short");
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "a token of 5 bytes");
    options = patient("not a secret, but long enough");
    options.flags = EAGRE_INSECURE_PLAIN;
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "not several");
    options = patient(NULL);
    options.flags = 8;
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "unknown flags 0x8");
    options = patient(NULL);
    options.peers = peers, options.peer_count = 1;
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "without an identity");
    options.identity = "/nowhere/key";
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "this is no fingerprint");
    options.peers = NULL;
    connects_as(&options, "127.0.0.1", EAGRE_INVALID, "null pointer");
    options = patient(NULL);
    options.token_file = "/nowhere/token";
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "/nowhere/token");
    options = patient(NULL);
    options.version = 9;
    connects_as(&options, "127.0.0.1", EAGRE_WRONG_VERSION, "EagreNetworkOptions");
    options = patient(NULL);
    options.block_size = 1000;
    connects_as(&options, "127.0.0.1", EAGRE_SETTING, "block_size is 1000");

    IS(eagre_listener_open(NULL, NULL, &listener), EAGRE_INVALID);
    IS(eagre_listener_open("0.0.0.0:0", NULL, &listener), EAGRE_SETTING);
    IS(eagre_listener_open("127.0.0.1:0", NULL, NULL), EAGRE_INVALID);
    listener = listen_with(NULL, address);
    EagreListener *second = listener;
    IS(eagre_listener_open(address, NULL, &second), EAGRE_RESOURCES);
    CHECK(second == NULL && strstr(eagre_last_error(), "name another port") != NULL);
    CHECK(eagre_listener_address(listener, NULL, 0) == strlen(address));
    CHECK(eagre_listener_address(NULL, address, sizeof address) == 0);
    IS(eagre_listener_reader(NULL, "stream", 1, &reader), EAGRE_INVALID);
    IS(eagre_listener_reader(listener, NULL, 1, &reader), EAGRE_INVALID);
    IS(eagre_listener_reader(listener, "two\nlines", 1, &reader), EAGRE_SETTING);
    eagre_listener_close(listener);
    eagre_listener_close(NULL);
}

/* A token that only its owner may read, and one that others may read too. */
static void token_files(void) {
    char path[] = "network-token-XXXXXX", address[64];
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, "0123456789abcdef0123\n", 21) == 21);
    EagreNetworkOptions options = patient(NULL);
    options.token_file = path;
    EagreListener *listener = listen_with(&options, address);
    CHECK(fchmod(file, 0644) == 0);
    IS(eagre_listener_open("127.0.0.1:0", &options, &listener), EAGRE_SETTING);
    close(file);
    unlink(path);
}

/* Blocks by RDMA, where there is libfabric; settings are checked in any case. */
static void by_rdma(void) {
    struct Caller caller = {.options = patient(NULL)};
    EagreListener *listener = NULL;
    EagreReader *reader = NULL;
    caller.options.rdma = "carrier pigeons";
    IS(eagre_listener_open("127.0.0.1:0", &caller.options, &listener), EAGRE_SETTING);
    CHECK(strstr(eagre_last_error(), "use tcp, verbs or shm") != NULL && listener == NULL);
    caller.options.rdma = "tcp,pipelined-copy";
    listener = listen_with(&caller.options, caller.address);
    pthread_t thread = start(call_to_write, &caller);
    if (eagre_listener_reader(listener, "stream", 0, &reader) != EAGRE_OK) {
        IS(eagre_last_status(), EAGRE_SETTING);
        CHECK(strstr(eagre_last_error(), "install libfabric") != NULL);
        fprintf(stderr, "skipped: %s\n", eagre_last_error());
        pthread_join(thread, NULL);
        IS(caller.status, EAGRE_NETWORK);
        eagre_listener_close(listener);
        return;
    }
    pthread_join(thread, NULL);
    IS(caller.status, EAGRE_OK);
    pthread_t producer = start(produce_small, caller.writer);
    consume_small(reader);
    pthread_join(producer, NULL);
    eagre_listener_close(listener);
}

int main(void) {
    beget();
    bytes_arrive();
    nothing_arrives();
    strangers();
    the_writer_goes();
    the_reader_goes();
    the_process_ends();
    cancelled();
    streams_are_attached();
    offers();
    by_rdma();
    within_a_process();
    misuse();
    token_files();
    return report();
}
