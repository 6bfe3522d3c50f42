// Streams between hosts in C++, over loopback. Run under every trap and mover.
#include <eagre.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

static int failures = 0;

#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, std::fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition)))

static_assert(!std::is_copy_constructible_v<eagre::Listener> && std::is_nothrow_move_constructible_v<eagre::Listener>);

template <class Call> static EagreStatus status_of(Call call) {
    try {
        call();
        return EAGRE_OK;
    } catch (const eagre::Error &error) {
        CHECK(std::strlen(error.what()) > 0);
        return error.status();
    }
}

// Of the characters of a token, any 16 will do.
static eagre::NetworkOptions options(const std::string &token) {
    eagre::NetworkOptions options;
    options.retry_ns = options.silence_ns = 60'000'000'000;
    options.token = token.data();
    options.token_size = token.size();
    return options;
}

static void both_ways(const std::string &token) {
    const std::vector<std::uint64_t> numbers(1'000'003, 7);
    const std::size_t bytes = numbers.size() * sizeof numbers[0];
    const eagre::Listener listener("127.0.0.1:0", options(token));
    std::thread other([&] {
        auto writer = eagre::connect_writer(listener.address(), "there", options(token));
        writer.copy_in(numbers.data(), bytes);
        writer.finish();
        auto reader = eagre::connect_reader(listener.address(), "back", options(token));
        std::vector<std::uint64_t> back(numbers.size());
        CHECK(reader.copy_out(back.data(), bytes) == bytes && back == numbers);
        reader.finish();
    });
    auto reader = listener.reader("there");
    auto there = numbers;
    there.assign(numbers.size(), 0);
    CHECK(reader.copy_out(there.data(), bytes) == bytes && there == numbers);
    reader.finish();
    auto writer = listener.writer("back", std::chrono::minutes(1));
    writer.copy_in(there.data(), bytes);
    writer.finish();
    other.join();
}

static void offers_and_transfers(const std::string &token) {
    const eagre::Listener listener("127.0.0.1:0", options(token));
    auto small = [] {
        eagre::Options options;
        options.block_size = 64 << 10;
        return eagre::open(options);
    };
    eagre::Pipe from = small(), to = small();
    std::thread other([&] {
        auto transfer = eagre::connect_send_from(listener.address(), "text", std::move(from.reader), options(token));
        from.writer.copy_in("text", 4);
        from.writer.finish();
        CHECK(transfer.join() == 4);
        CHECK(status_of([&] { eagre::connect_reader(listener.address(), "refused", options(token)); }) == EAGRE_NETWORK);
        auto reader = eagre::connect_reader(listener.address(), "opened", options(token));
        CHECK(reader.fill().empty());
        reader.finish();
    });
    auto offer = listener.accept();
    CHECK(offer.name() == "text" && offer.peer().rfind("127.0.0.1:", 0) == 0 && offer.peer_writes());
    auto transfer = offer.receive_into(std::move(to.writer));
    char text[5] = {};
    CHECK(to.reader.copy_out(text, 5) == 4 && std::strcmp(text, "text") == 0);
    CHECK(transfer.join() == 4);
    listener.accept(std::chrono::minutes(1)).refuse("not today");
    auto writer = listener.accept().writer();
    writer.finish();
    other.join();
    CHECK(status_of([&] { listener.send_from("nobody", std::move(small().reader), std::chrono::seconds(0)); }) == EAGRE_TIMED_OUT);
}

int main() {
    const std::string token = "sixteen or more of them", other = "others, and as many of them";
    both_ways(token);
    offers_and_transfers(token);
    const eagre::Listener listener("127.0.0.1:0", options(token));
    CHECK(status_of([&] { eagre::connect_writer(listener.address(), "x", options(other)); }) == EAGRE_NETWORK);
    CHECK(status_of([&] { listener.reader("x", std::chrono::seconds(0)); }) == EAGRE_TIMED_OUT);
    CHECK(status_of([&] { eagre::Listener second(listener.address(), options(token)); }) == EAGRE_RESOURCES);
    CHECK(status_of([&] { eagre::connect_reader("no:port", "x"); }) == EAGRE_INVALID);
    if (failures == 0) std::printf("ok\n");
    return failures == 0 ? 0 : 1;
}
