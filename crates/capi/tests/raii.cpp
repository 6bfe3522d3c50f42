// The C++ header: owners, exceptions, callbacks. Run under every trap and mover.
#include <eagre.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

static int failures = 0;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, std::fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition)))

static_assert(!std::is_copy_constructible_v<eagre::Writer> && std::is_nothrow_move_constructible_v<eagre::Writer>);
static_assert(!std::is_copy_constructible_v<eagre::Reader> && std::is_nothrow_move_constructible_v<eagre::Reader>);
static_assert(!std::is_copy_constructible_v<eagre::ReadBlock> && std::is_move_assignable_v<eagre::ReadBlock>);

template <class Call> static EagreStatus status_of(Call call) {
    try {
        call();
        return EAGRE_OK;
    } catch (const eagre::Error &error) {
        CHECK(std::strlen(error.what()) > 0);
        return error.status();
    }
}

static bool has_pointers() {
    auto pipe = eagre::open();
    return pipe.writer.control().stats().trap != EAGRE_TRAP_OFF;
}

static void scopes() {
    auto [writer, reader] = eagre::open();
    if (!has_pointers()) {
        auto &end = writer;
        CHECK(status_of([&] { end.scope([](unsigned char *) {}); }) == EAGRE_NO_POINTER);
        CHECK(status_of([&] { end.pointer(); }) == EAGRE_NO_POINTER);
        return;
    }
    const std::size_t length = 30'000'000;
    std::thread producer([length, writer = std::move(writer)]() mutable {
        auto fill = [=](char *to) { std::fill(to, to + length, 'y'); };
        writer.scope<char>(fill);
        writer.finish_at(length);
    });
    const auto count = reader.scope<char>([](const char *from) { return std::strlen(from); });
    CHECK(count == length);
    reader.scope<char>([](const char *) {});
    CHECK(reader.pointer<char>()[length] == 0);
    producer.join();
    CHECK(reader.length() == length);

    // What the function throws passes through, and the writer that goes with it fails the stream.
    auto pipe = eagre::open();
    std::string thrown;
    try {
        auto writer = std::move(pipe.writer);
        writer.scope([](unsigned char *to) -> int {
            to[0] = 1;
            throw std::runtime_error("out of ideas");
        });
    } catch (const std::runtime_error &error) {
        thrown = error.what();
    }
    CHECK(thrown == "out of ideas");
    CHECK(status_of([&] { pipe.reader.scope([](const unsigned char *from) { return from[0]; }); }) == EAGRE_WRITER_GONE);
}

static void calls() {
    eagre::Options options;
    options.block_size = 64 << 10;
    auto [writer, reader] = eagre::open(options);
    auto room = writer.reserve(4);
    CHECK(room.size() >= 4 && !room.empty());
    std::copy_n("0123", 4, room.begin());
    writer.commit(4);
    writer.copy_in("4567", 4);
    CHECK(writer.position() == 8 && !reader.length());
    auto &end = writer;
    CHECK(status_of([&] { end.commit(1); }) == EAGRE_INVALID);
    writer.finish();
    CHECK(status_of([&] { end.finish(); }) == EAGRE_INVALID_LENGTH);
    auto there = reader.fill();
    CHECK(there.size() == 8 && there[7] == '7');
    reader.consume(5);
    char rest[8];
    CHECK(reader.copy_out(rest, sizeof rest) == 3 && rest[0] == '5');
    CHECK(reader.fill().empty() && !reader.take());
    CHECK(reader.control().stats().reader_position == 8);
}

static void blocks() {
    auto [writer, reader] = eagre::open();
    auto first = writer.take();
    auto second = writer.take();
    std::fill(second.bytes().begin(), second.bytes().end(), static_cast<unsigned char>(2));
    std::fill(first.bytes().begin(), first.bytes().end(), static_cast<unsigned char>(1));
    writer.complete(std::move(second));
    writer.complete(std::move(first));
    writer.finish();
    for (unsigned char value = 1; value <= 2; value++) {
        auto block = reader.take();
        CHECK(block && block->bytes()[0] == value && block->offset() == (value - 1u) * block->bytes().size());
        reader.release(std::move(*block));
    }
    CHECK(!reader.take());

    auto broken = eagre::open();
    { auto block = broken.writer.take(); }
    CHECK(status_of([&] { broken.reader.check(); }) == EAGRE_WRITER_GONE);
}

static void callbacks() {
    const std::uint64_t length = 10'000'000;
    auto reader = eagre::open_source([=](std::uint64_t offset, eagre::Bytes bytes) {
        const auto now = std::min<std::uint64_t>(bytes.size(), length - offset);
        std::fill_n(bytes.begin(), now, static_cast<unsigned char>(3));
        return now;
    });
    std::vector<unsigned char> all(length + 1);
    CHECK(reader.copy_out(all.data(), all.size()) == length && all[length - 1] == 3);

    auto throws = eagre::open_source([](std::uint64_t, eagre::Bytes) -> std::size_t { throw 1; });
    CHECK(status_of([&] { throws.fill(); }) == EAGRE_WRITER_FAILED);

    std::uint64_t total = 0, ended = 0;
    auto writer = eagre::open_sink([&](std::uint64_t offset, eagre::ConstBytes bytes) {
        if (bytes.empty()) ended = offset;
        total += bytes.size();
    });
    writer.copy_in(all.data(), length);
    writer.finish();
    CHECK(total == length && ended == length);
}

static void failures_and_pools() {
    auto [writer, reader] = eagre::open();
    auto control = reader.control();
    control.check();
    control.cancel();
    auto &end = writer;
    CHECK(status_of([&] { end.copy_in("x", 1); }) == EAGRE_CANCELLED);
    CHECK(status_of([&] { control.check(); }) == EAGRE_CANCELLED);

    eagre::Pool pool(1, 64 << 10);
    eagre::Options options;
    options.block_size = 64 << 10;
    options.pool = pool.get();
    auto small = eagre::open(options);
    CHECK(status_of([&] { small.writer.copy_in("x", 1); }) == EAGRE_OUT_OF_BLOCKS);
    options.version = 0;
    CHECK(status_of([&] { eagre::open(options); }) == EAGRE_WRONG_VERSION);
}

static void files() {
    char path[] = "/tmp/eagre-raii-XXXXXX";
    const int made = mkstemp(path);
    CHECK(made >= 0 && close(made) == 0);
    const std::string line = "one wave\n";
    {
        auto writer = eagre::create_file(path);
        for (int at = 0; at < 100000; at++) writer.copy_in(line.data(), line.size());
        CHECK(eagre::count_file(path).bytes == 0);
        writer.finish();
    }
    const auto counts = eagre::count_file(path, EAGRE_LINES | EAGRE_WORDS);
    CHECK(counts.lines == 100000 && counts.words == 200000 && counts.bytes == 100000 * line.size());
    auto reader = eagre::open_file(path);
    std::string text(counts.bytes + 1, ' ');
    CHECK(reader.copy_out(&text[0], text.size()) == counts.bytes && text.compare(0, line.size(), line) == 0);
    CHECK(unlink(path) == 0);
    CHECK(status_of([&] { eagre::open_file(path); }) == EAGRE_SYSTEM);
}

int main() {
    files();
    scopes();
    calls();
    blocks();
    callbacks();
    failures_and_pools();
    if (failures == 0) std::printf("ok\n");
    return failures == 0 ? 0 : 1;
}
