// Eagre for C++17: eagre.h with owners that close themselves, and exceptions.
//
// Everything is in this header; link as for C. Words, units and contracts are those of eagre.h.
//
//     auto [writer, reader] = eagre::open();
//     std::thread producer([writer = std::move(writer)]() mutable {
//         writer.scope([](unsigned char *to) { fill(to, length); });
//         writer.finish_at(length);
//     });
//     auto found = reader.scope([](const unsigned char *from) { return search(from); });
//     producer.join();
#ifndef EAGRE_HPP
#define EAGRE_HPP

#include "eagre.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

namespace eagre {

/// A call failed: why, in words and as a number.
class Error : public std::runtime_error {
public:
    explicit Error(EagreStatus status) : std::runtime_error(eagre_last_error()), status_(status) {}
    EagreStatus status() const noexcept { return status_; }

private:
    EagreStatus status_;
};

namespace detail {

inline void check(EagreStatus status) {
    if (status != EAGRE_OK) throw Error(status);
}

template <class T> T *check(T *pointer) {
    if (pointer == nullptr) throw Error(eagre_last_status());
    return pointer;
}

template <class T, void (*close)(T *)> struct Close {
    void operator()(T *handle) const noexcept { close(handle); }
};

template <class T, void (*close)(T *)> using Handle = std::unique_ptr<T, Close<T, close>>;

/// A limit of a wait, as C has it: 0 is for ever.
inline std::uint64_t nanoseconds(std::optional<std::chrono::nanoseconds> limit) {
    return limit ? static_cast<std::uint64_t>(limit->count() > 0 ? limit->count() : 1) : 0;
}

/// A function on its way through C: what it returned, or what it threw.
template <class Function, class Pointer> class Call {
public:
    using Result = std::invoke_result_t<Function &, Pointer>;

    explicit Call(Function &function) : function_(function) {}

    void run(Pointer pointer) noexcept {
        try {
            if constexpr (std::is_void_v<Result>)
                function_(pointer);
            else
                result_.emplace(function_(pointer));
        } catch (...) {
            thrown_ = std::current_exception();
        }
    }

    /// What the function threw comes first; then the stream's failure; then the result.
    Result finish(EagreStatus status) {
        if (thrown_) std::rethrow_exception(thrown_);
        check(status);
        if constexpr (!std::is_void_v<Result>) return std::move(*result_);
    }

private:
    struct Nothing {};
    Function &function_;
    std::exception_ptr thrown_;
    std::conditional_t<std::is_void_v<Result>, Nothing, std::optional<std::conditional_t<std::is_void_v<Result>, int, Result>>>
        result_;
};

} // namespace detail

/// Some bytes in a row, owned by somebody else.
template <class T> class Span {
public:
    Span() = default;
    Span(T *data, std::size_t size) : data_(data), size_(size) {}
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T &operator[](std::size_t at) const { return data_[at]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

using Bytes = Span<unsigned char>;
using ConstBytes = Span<const unsigned char>;

/// How a stream is to be: EagreOptions filled with the defaults.
struct Options : EagreOptions {
    Options() : EagreOptions() { detail::check(eagre_options_default(this, sizeof(EagreOptions))); }
};

/// A budget of memory that some streams share: put get() into Options::pool.
class Pool {
public:
    explicit Pool(std::uint32_t budget, std::uint64_t block_size = 0, EagreTrap trap = EAGRE_TRAP_DEFAULT,
                  EagreMover mover = EAGRE_MOVER_DEFAULT) {
        EagrePool *pool = nullptr;
        detail::check(eagre_pool_open(block_size, budget, trap, mover, &pool));
        handle_.reset(pool);
    }
    const EagrePool *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<EagrePool, eagre_pool_close> handle_;
};

/// Watches and cancels a stream from any thread.
class Control {
public:
    explicit Control(EagreControl *handle) : handle_(handle) {}
    void cancel() { detail::check(eagre_control_cancel(handle_.get())); }
    /// Throws the stream's failure, if there is one.
    void check() const { detail::check(eagre_control_check(handle_.get())); }
    std::uint64_t capacity() const { return eagre_control_capacity(handle_.get()); }
    EagreStats stats() const {
        EagreStats stats;
        detail::check(eagre_control_stats(handle_.get(), &stats, sizeof stats));
        return stats;
    }
    EagreControl *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<EagreControl, eagre_control_close> handle_;
};

/// A block to fill. Fails the stream if it is destroyed before it was completed.
class WriteBlock {
public:
    explicit WriteBlock(EagreWriteBlock *handle) : handle_(handle) {}
    std::uint64_t offset() const { return eagre_write_block_offset(handle_.get()); }
    Bytes bytes() {
        std::size_t size = 0;
        void *data = detail::check(eagre_write_block_data(handle_.get(), &size));
        return {static_cast<unsigned char *>(data), size};
    }
    EagreWriteBlock *get() const noexcept { return handle_.get(); }
    EagreWriteBlock *release() noexcept { return handle_.release(); }

private:
    detail::Handle<EagreWriteBlock, eagre_write_block_abandon> handle_;
};

/// A block to read.
class ReadBlock {
public:
    explicit ReadBlock(EagreReadBlock *handle) : handle_(handle) {}
    std::uint64_t offset() const { return eagre_read_block_offset(handle_.get()); }
    ConstBytes bytes() const {
        std::size_t size = 0;
        const void *data = detail::check(eagre_read_block_data(handle_.get(), &size));
        return {static_cast<const unsigned char *>(data), size};
    }
    EagreReadBlock *get() const noexcept { return handle_.get(); }
    EagreReadBlock *release() noexcept { return handle_.release(); }

private:
    detail::Handle<EagreReadBlock, eagre_read_block_abandon> handle_;
};

/// The writing end. Destroyed before it was finished, the reader gets an error.
class Writer {
public:
    explicit Writer(EagreWriter *handle) : handle_(handle) {}

    /// Byte 0 of the stream, as whatever it holds.
    template <class T = unsigned char> T *pointer() {
        return static_cast<T *>(detail::check(eagre_writer_pointer(handle_.get())));
    }

    /// Calls write(pointer) and returns what it returns; throws what it throws, or the stream's failure.
    template <class T = unsigned char, class Write> auto scope(Write &&write) {
        detail::Call<Write, T *> call(write);
        auto run = [](void *stream, void *context) {
            static_cast<detail::Call<Write, T *> *>(context)->run(static_cast<T *>(stream));
        };
        return call.finish(eagre_writer_scope(handle_.get(), run, &call));
    }

    Bytes reserve(std::size_t bytes = 0) {
        std::size_t room = 0;
        void *data = detail::check(eagre_writer_reserve(handle_.get(), bytes, &room));
        return {static_cast<unsigned char *>(data), room};
    }
    void commit(std::size_t bytes) { detail::check(eagre_writer_commit(handle_.get(), bytes)); }
    void copy_in(const void *data, std::size_t size) { detail::check(eagre_writer_copy_in(handle_.get(), data, size)); }
    std::uint64_t position() const { return eagre_writer_position(handle_.get()); }
    void advance_to(std::uint64_t offset) { detail::check(eagre_writer_advance_to(handle_.get(), offset)); }
    void finish() { detail::check(eagre_writer_finish(handle_.get())); }
    void finish_at(std::uint64_t length) { detail::check(eagre_writer_finish_at(handle_.get(), length)); }
    void fail(const char *message) { detail::check(eagre_writer_fail(handle_.get(), message)); }
    /// Throws the stream's failure, if there is one.
    void check() const { detail::check(eagre_writer_check(handle_.get())); }

    WriteBlock take() {
        EagreWriteBlock *block = nullptr;
        detail::check(eagre_writer_take(handle_.get(), &block));
        return WriteBlock(block);
    }
    /// The block is not full, and will not be; the one taken last comes back first.
    void put_back(WriteBlock &&block) {
        detail::check(eagre_writer_put_back(handle_.get(), block.get()));
        block.release();
    }
    void complete(WriteBlock &&block) {
        detail::check(eagre_writer_complete(handle_.get(), block.get()));
        block.release();
    }

    Control control() const {
        EagreControl *control = nullptr;
        detail::check(eagre_writer_control(handle_.get(), &control));
        return Control(control);
    }
    /// Closes this end before the object ends.
    void close() noexcept { handle_.reset(); }
    EagreWriter *get() const noexcept { return handle_.get(); }
    /// The handle, which is not closed here any more.
    EagreWriter *leave() noexcept { return handle_.release(); }

private:
    detail::Handle<EagreWriter, eagre_writer_close> handle_;
};

/// The reading end. Destroyed before the writer finished, the writer gets an error.
class Reader {
public:
    explicit Reader(EagreReader *handle) : handle_(handle) {}

    /// Byte 0 of the stream, as whatever it holds. check() before you trust what you have read.
    template <class T = unsigned char> const T *pointer() {
        return static_cast<const T *>(detail::check(eagre_reader_pointer(handle_.get())));
    }

    /// Calls read(pointer) and returns what it returns; throws what it throws, or the stream's failure.
    template <class T = unsigned char, class Read> auto scope(Read &&read) {
        detail::Call<Read, const T *> call(read);
        auto run = [](const void *stream, void *context) {
            static_cast<detail::Call<Read, const T *> *>(context)->run(static_cast<const T *>(stream));
        };
        return call.finish(eagre_reader_scope(handle_.get(), run, &call));
    }

    /// Empty at the end of the stream.
    ConstBytes fill(std::size_t bytes = 0) {
        std::size_t size = 0;
        const void *data = detail::check(eagre_reader_fill(handle_.get(), bytes, &size));
        return {static_cast<const unsigned char *>(data), size};
    }
    void consume(std::size_t bytes) { detail::check(eagre_reader_consume(handle_.get(), bytes)); }
    std::size_t copy_out(void *data, std::size_t size) {
        std::size_t copied = 0;
        detail::check(eagre_reader_copy_out(handle_.get(), data, size, &copied));
        return copied;
    }
    /// Nothing while the length is not known.
    std::optional<std::uint64_t> length() const {
        const std::uint64_t length = eagre_reader_length(handle_.get());
        return length == EAGRE_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(length);
    }
    std::uint64_t position() const { return eagre_reader_position(handle_.get()); }
    void advance_to(std::uint64_t offset) { detail::check(eagre_reader_advance_to(handle_.get(), offset)); }
    /// Throws unless the stream has been read to its end; between hosts, waits until the other side knows.
    void finish() { detail::check(eagre_reader_finish(handle_.get())); }
    void fail(const char *message) { detail::check(eagre_reader_fail(handle_.get(), message)); }
    /// Throws the stream's failure, if there is one.
    void check() const { detail::check(eagre_reader_check(handle_.get())); }

    /// Nothing at the end of the stream.
    std::optional<ReadBlock> take() {
        EagreReadBlock *block = nullptr;
        detail::check(eagre_reader_take(handle_.get(), &block));
        if (block == nullptr) return std::nullopt;
        return ReadBlock(block);
    }
    void release(ReadBlock &&block) {
        detail::check(eagre_reader_release(handle_.get(), block.get()));
        block.release();
    }

    /// What the sort did whose output this is (sort_stream), when everything has been read.
    EagreSortReport sort_report() {
        EagreSortReport report{};
        detail::check(eagre_reader_sort_report(handle_.get(), &report, sizeof report));
        return report;
    }

    Control control() const {
        EagreControl *control = nullptr;
        detail::check(eagre_reader_control(handle_.get(), &control));
        return Control(control);
    }
    /// Closes this end before the object ends.
    void close() noexcept { handle_.reset(); }
    EagreReader *get() const noexcept { return handle_.get(); }
    /// The handle, which is not closed here any more.
    EagreReader *leave() noexcept { return handle_.release(); }

private:
    detail::Handle<EagreReader, eagre_reader_close> handle_;
};

/// The two ends of a stream.
struct Pipe {
    Writer writer;
    Reader reader;
};

/// Opens a stream.
inline Pipe open(const EagreOptions &options = Options()) {
    EagreWriter *writer = nullptr;
    EagreReader *reader = nullptr;
    detail::check(eagre_open(&options, &writer, &reader));
    return Pipe{Writer(writer), Reader(reader)};
}

/// Opens a stream that source(offset, Bytes) fills: it returns how many bytes it put there, 0 at the end. If it throws,
/// the stream fails. It runs on a helper thread.
template <class Source> Reader open_source(Source source, const EagreOptions &options = Options()) {
    auto *owned = new Source(std::move(source));
    auto call = [](void *context, std::uint64_t offset, void *bytes, std::size_t size) noexcept -> std::int64_t {
        try {
            auto &source = *static_cast<Source *>(context);
            return static_cast<std::int64_t>(source(offset, Bytes(static_cast<unsigned char *>(bytes), size)));
        } catch (...) {
            return -EIO;
        }
    };
    auto free = [](void *context) { delete static_cast<Source *>(context); };
    EagreReader *reader = nullptr;
    detail::check(eagre_open_source(&options, call, owned, free, &reader));
    return Reader(reader);
}

/// Opens a stream that sink(offset, ConstBytes) empties; empty bytes mean the end. If it throws, the stream fails. It
/// runs on a helper thread; finishing the writer waits for it.
template <class Sink> Writer open_sink(Sink sink, const EagreOptions &options = Options()) {
    auto *owned = new Sink(std::move(sink));
    auto call = [](void *context, std::uint64_t offset, const void *bytes, std::size_t size) noexcept -> std::int64_t {
        try {
            auto &sink = *static_cast<Sink *>(context);
            sink(offset, ConstBytes(static_cast<const unsigned char *>(bytes), size));
            return 0;
        } catch (...) {
            return -EIO;
        }
    };
    auto free = [](void *context) { delete static_cast<Sink *>(context); };
    EagreWriter *writer = nullptr;
    detail::check(eagre_open_sink(&options, call, owned, free, &writer));
    return Writer(writer);
}

/// Opens a file as a stream.
inline Reader open_file(const std::string &path, const EagreOptions &options = Options()) {
    EagreReader *reader = nullptr;
    detail::check(eagre_open_file(path.c_str(), &options, &reader));
    return Reader(reader);
}

/// Makes a file from a stream. It appears, complete, when the writer has finished; before, it does not.
inline Writer create_file(const std::string &path, const EagreOptions &options = Options()) {
    EagreWriter *writer = nullptr;
    detail::check(eagre_create_file(path.c_str(), &options, &writer));
    return Writer(writer);
}

/// How streams between hosts are to be: EagreNetworkOptions filled with the defaults.
struct NetworkOptions : EagreNetworkOptions {
    NetworkOptions() : EagreNetworkOptions() {
        detail::check(eagre_network_options_default(this, sizeof(EagreNetworkOptions)));
    }
};

/// Opens a stream that is written here and read on another host, where a Listener is asked for a reader of this name.
inline Writer connect_writer(const std::string &address, const std::string &name,
                             const EagreNetworkOptions &options = NetworkOptions()) {
    EagreWriter *writer = nullptr;
    detail::check(eagre_connect_writer(address.c_str(), name.c_str(), &options, &writer));
    return Writer(writer);
}

/// Opens a stream that is written on another host, where a Listener is asked for a writer of this name, and read here.
inline Reader connect_reader(const std::string &address, const std::string &name,
                             const EagreNetworkOptions &options = NetworkOptions()) {
    EagreReader *reader = nullptr;
    detail::check(eagre_connect_reader(address.c_str(), name.c_str(), &options, &reader));
    return Reader(reader);
}

/// The thread that carries a stream of this process to another host, or from one. Destroyed before, it goes on.
class Transfer {
public:
    explicit Transfer(EagreTransfer *handle) : handle_(handle) {}

    /// Waits until the stream has been carried to its end and both sides know it. Returns its length in bytes.
    std::uint64_t join() {
        std::uint64_t bytes = 0;
        detail::check(eagre_transfer_join(handle_.release(), &bytes, nullptr));
        return bytes;
    }

private:
    detail::Handle<EagreTransfer, eagre_transfer_close> handle_;
};

/// Sends what a stream carries of which nothing was read, to where a Listener is asked for a reader of this name.
inline Transfer connect_send_from(const std::string &address, const std::string &name, Reader &&reader,
                                  const EagreNetworkOptions &options = NetworkOptions()) {
    EagreTransfer *transfer = nullptr;
    detail::check(eagre_connect_send_from(address.c_str(), name.c_str(), &options, reader.leave(), &transfer));
    return Transfer(transfer);
}

/// Receives what a stream shall carry into which nothing was written, from where a Listener is asked for a writer of this name.
inline Transfer connect_receive_into(const std::string &address, const std::string &name, Writer &&writer,
                                     const EagreNetworkOptions &options = NetworkOptions()) {
    EagreTransfer *transfer = nullptr;
    detail::check(eagre_connect_receive_into(address.c_str(), name.c_str(), &options, writer.leave(), &transfer));
    return Transfer(transfer);
}

/// A stream that a caller wants. It is opened or refused once; destroyed before, it is refused.
class Offer {
public:
    explicit Offer(EagreOffer *handle) : handle_(handle) {}

    std::string name() const {
        std::string text(eagre_offer_name(handle_.get(), nullptr, 0), '\0');
        eagre_offer_name(handle_.get(), text.data(), text.size() + 1);
        return text;
    }
    /// Where the caller is.
    std::string peer() const {
        std::string text(eagre_offer_peer(handle_.get(), nullptr, 0), '\0');
        eagre_offer_peer(handle_.get(), text.data(), text.size() + 1);
        return text;
    }
    /// Whether the caller writes, so that this side reads.
    bool peer_writes() const { return eagre_offer_peer_writes(handle_.get()) != 0; }

    Writer writer() {
        EagreWriter *writer = nullptr;
        detail::check(eagre_offer_writer(handle_.release(), &writer));
        return Writer(writer);
    }
    Reader reader() {
        EagreReader *reader = nullptr;
        detail::check(eagre_offer_reader(handle_.release(), &reader));
        return Reader(reader);
    }
    Transfer send_from(Reader &&reader) {
        EagreTransfer *transfer = nullptr;
        detail::check(eagre_offer_send_from(handle_.release(), reader.leave(), &transfer));
        return Transfer(transfer);
    }
    Transfer receive_into(Writer &&writer) {
        EagreTransfer *transfer = nullptr;
        detail::check(eagre_offer_receive_into(handle_.release(), writer.leave(), &transfer));
        return Transfer(transfer);
    }
    /// The caller is told why.
    void refuse(const std::string &why) { eagre_offer_refuse(handle_.release(), why.c_str()); }

private:
    static void drop(EagreOffer *offer) { eagre_offer_refuse(offer, nullptr); }
    detail::Handle<EagreOffer, drop> handle_;
};

/// Where others open streams to this side. Several threads may use it at once.
class Listener {
public:
    explicit Listener(const std::string &address, const EagreNetworkOptions &options = NetworkOptions()) {
        EagreListener *listener = nullptr;
        detail::check(eagre_listener_open(address.c_str(), &options, &listener));
        handle_.reset(listener);
    }

    /// Where it listens, with the real port.
    std::string address() const {
        std::string text(eagre_listener_address(handle_.get(), nullptr, 0), '\0');
        eagre_listener_address(handle_.get(), text.data(), text.size() + 1);
        return text;
    }

    /// Waits for a caller that reads a stream of this name. Throws EAGRE_TIMED_OUT if there is none within the limit.
    Writer writer(const std::string &name, std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        EagreWriter *writer = nullptr;
        detail::check(eagre_listener_writer(handle_.get(), name.c_str(), detail::nanoseconds(limit), &writer));
        return Writer(writer);
    }

    /// Waits for a caller that writes a stream of this name, as writer does.
    Reader reader(const std::string &name, std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        EagreReader *reader = nullptr;
        detail::check(eagre_listener_reader(handle_.get(), name.c_str(), detail::nanoseconds(limit), &reader));
        return Reader(reader);
    }

    /// Waits for a caller of a stream that nobody waits for by name.
    Offer accept(std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        EagreOffer *offer = nullptr;
        detail::check(eagre_listener_accept(handle_.get(), detail::nanoseconds(limit), &offer));
        return Offer(offer);
    }

    /// Waits for a caller that reads a stream of this name, and sends what another stream carries of which nothing was read.
    Transfer send_from(const std::string &name, Reader &&reader,
                       std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        EagreTransfer *transfer = nullptr;
        detail::check(eagre_listener_send_from(handle_.get(), name.c_str(), detail::nanoseconds(limit), reader.leave(), &transfer));
        return Transfer(transfer);
    }

    /// Waits for a caller that writes a stream of this name, and receives what another stream shall carry.
    Transfer receive_into(const std::string &name, Writer &&writer,
                          std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        EagreTransfer *transfer = nullptr;
        detail::check(
            eagre_listener_receive_into(handle_.get(), name.c_str(), detail::nanoseconds(limit), writer.leave(), &transfer));
        return Transfer(transfer);
    }

    /// Stops listening before the object ends. Streams that are open go on.
    void close() noexcept { handle_.reset(); }
    EagreListener *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<EagreListener, eagre_listener_close> handle_;
};

/// One side of a connection between two processes: a descriptor, on which one stream is opened. The one that is passed on is closed here
/// when it has been.
class Connection {
public:
    /// A descriptor that was a connection in another process, or 0 for the standard input that the parent has passed.
    explicit Connection(int descriptor) noexcept : descriptor_(descriptor) {}
    Connection(Connection &&other) noexcept : descriptor_(other.release()) {}
    Connection &operator=(Connection &&other) noexcept {
        if (this != &other) {
            close();
            descriptor_ = other.release();
        }
        return *this;
    }
    ~Connection() { close(); }

    /// Both sides of a new connection: one to keep, and one for another process.
    static std::pair<Connection, Connection> pair() {
        int ours = -1, theirs = -1;
        detail::check(eagre_process_pair(&ours, &theirs));
        return {Connection(ours), Connection(theirs)};
    }
    /// Connects to the process of the same user that listens as this name.
    static Connection connect(const std::string &name) {
        int connection = -1;
        detail::check(eagre_process_connect(name.c_str(), &connection));
        return Connection(connection);
    }

    /// Makes a stream that this process writes.
    Writer make_writer(const EagreOptions &options = Options()) && {
        EagreWriter *writer = nullptr;
        detail::check(eagre_process_make_writer(release(), &options, &writer));
        return Writer(writer);
    }
    /// Makes a stream that this process reads.
    Reader make_reader(const EagreOptions &options = Options()) && {
        EagreReader *reader = nullptr;
        detail::check(eagre_process_make_reader(release(), &options, &reader));
        return Reader(reader);
    }
    /// Joins the stream that the other process has made to read it; waits until it has.
    Writer join_writer() && {
        EagreWriter *writer = nullptr;
        detail::check(eagre_process_join_writer(release(), &writer));
        return Writer(writer);
    }
    /// Joins the stream that the other process has made to write it; waits until it has.
    Reader join_reader() && {
        EagreReader *reader = nullptr;
        detail::check(eagre_process_join_reader(release(), &reader));
        return Reader(reader);
    }

    int descriptor() const noexcept { return descriptor_; }
    /// The descriptor, which is the caller's from here on.
    int release() noexcept { return std::exchange(descriptor_, -1); }
    void close() noexcept {
        if (descriptor_ >= 0) ::close(release());
    }

private:
    int descriptor_;
};

/// A name at which other processes of the same user connect. Several threads may use it at once.
class ProcessListener {
public:
    explicit ProcessListener(const std::string &name) {
        EagreProcessListener *listener = nullptr;
        detail::check(eagre_process_listener_open(name.c_str(), &listener));
        handle_.reset(listener);
    }
    /// Waits for the next process that connects. Throws EAGRE_TIMED_OUT if there is none within the limit.
    Connection accept(std::optional<std::chrono::nanoseconds> limit = std::nullopt) const {
        int connection = -1;
        detail::check(eagre_process_listener_accept(get(), detail::nanoseconds(limit), &connection));
        return Connection(connection);
    }
    /// Stops listening before the object ends.
    void close() noexcept { handle_.reset(); }
    EagreProcessListener *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<EagreProcessListener, eagre_process_listener_close> handle_;
};

/// Counts what = the sum of EAGRE_LINES, EAGRE_WORDS, EAGRE_LONGEST in a file; 0 threads are as many as there may be.
inline EagreCounts count_file(const std::string &path, std::uint32_t what = EAGRE_LINES, std::uint32_t threads = 0) {
    EagreCounts counts{};
    detail::check(eagre_count_file(path.c_str(), what, threads, &counts, sizeof counts));
    return counts;
}

namespace detail {

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;
#endif

/// Which EagreKey a type is; 0 if none.
template <class T> struct Key {
    static constexpr int value() {
        if (std::is_same_v<T, float>) return EAGRE_KEY_F32;
        if (std::is_same_v<T, double>) return EAGRE_KEY_F64;
#ifdef __SIZEOF_INT128__
        if (std::is_same_v<T, Unsigned128>) return EAGRE_KEY_U128;
        if (std::is_same_v<T, Signed128>) return EAGRE_KEY_I128;
#endif
        if (!std::is_integral_v<T> || std::is_same_v<T, bool>) return 0;
        if (sizeof(T) == 4) return std::is_unsigned_v<T> ? EAGRE_KEY_U32 : EAGRE_KEY_I32;
        if (sizeof(T) == 8) return std::is_unsigned_v<T> ? EAGRE_KEY_U64 : EAGRE_KEY_I64;
        return 0;
    }
};

template <class T> struct Key<std::pair<T, T>> {
    static constexpr int value() {
        if (Key<T>::value() == EAGRE_KEY_U32) return EAGRE_KEY_U32U32;
        if (Key<T>::value() == EAGRE_KEY_U64) return EAGRE_KEY_U64U64;
        return 0;
    }
};

/// The EagreKey of what a range holds.
template <class Range> constexpr std::int32_t key_of() {
    constexpr int key = Key<std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>>>::value();
    static_assert(key != 0, "keys are integers of 32, 64 or 128 bits, float, double, or pairs of one unsigned type");
    return key;
}

} // namespace detail

/// How to sort: EagreSortOptions filled with the defaults.
struct SortOptions : EagreSortOptions {
    SortOptions() : EagreSortOptions() { detail::check(eagre_sort_options_default(this, sizeof(EagreSortOptions))); }
};

/// Sorts in ascending order, in place: whatever has its keys in a row (vector, array, span), which are integers of 32, 64
/// or 128 bits, float, double, or pairs of unsigned ones.
template <class Keys> void sort(Keys &&keys, const EagreSortOptions &options = SortOptions()) {
    detail::check(eagre_sort(std::data(keys), std::size(keys), detail::key_of<Keys>(), &options));
}

/// The same, and calls progress(done, total) now and then, which returns false to end the sort with EAGRE_CANCELLED. Any
/// thread of the sort calls, one at a time. What it throws comes out here.
template <class Keys, class Progress, class = std::enable_if_t<std::is_invocable_r_v<bool, Progress &, std::uint64_t, std::uint64_t>>>
void sort(Keys &&keys, Progress &&progress, EagreSortOptions options = SortOptions()) {
    struct Call {
        Progress &progress;
        std::exception_ptr thrown;
    } call{progress, nullptr};
    options.context = &call;
    options.progress = [](void *context, std::uint64_t done, std::uint64_t total) noexcept -> int {
        auto &call = *static_cast<Call *>(context);
        try {
            return call.progress(done, total) ? 0 : 1;
        } catch (...) {
            call.thrown = std::current_exception();
            return 1;
        }
    };
    const EagreStatus status = eagre_sort(std::data(keys), std::size(keys), detail::key_of<Keys>(), &options);
    if (call.thrown) std::rethrow_exception(call.thrown);
    detail::check(status);
}

/// Brings the few smallest keys to the front, in ascending order.
template <class Keys> void sort_smallest(Keys &&keys, std::size_t few, const EagreSortOptions &options = SortOptions()) {
    detail::check(eagre_sort_smallest(std::data(keys), std::size(keys), detail::key_of<Keys>(), few, &options));
}

/// Brings the few largest keys to the front, in descending order.
template <class Keys> void sort_largest(Keys &&keys, std::size_t few, const EagreSortOptions &options = SortOptions()) {
    detail::check(eagre_sort_largest(std::data(keys), std::size(keys), detail::key_of<Keys>(), few, &options));
}

/// Where the keys are in ascending order: first the index of the smallest. Equal keys come in the order they are in.
template <class Keys> std::vector<std::uint64_t> argsort(const Keys &keys, const EagreSortOptions &options = SortOptions()) {
    std::vector<std::uint64_t> places(std::size(keys));
    detail::check(eagre_argsort(std::data(keys), std::size(keys), detail::key_of<const Keys>(), &options, places.data()));
    return places;
}

/// How bytes are cut into records, and ordered: EagreFormat filled with the defaults, which are lines.
struct Format : EagreFormat {
    Format() : EagreFormat() { detail::check(eagre_format_default(this, sizeof(EagreFormat))); }
    /// Lines that end with this byte.
    static Format lines(unsigned char terminator = '\n') {
        Format format;
        format.terminator = terminator;
        return format;
    }
    /// Records of one size, and their keys (EagreFormat::keys), which are not copied.
    static Format fixed(std::uint64_t record_size, const char *keys = nullptr) {
        Format format;
        format.records = EAGRE_RECORDS_FIXED;
        format.record_size = record_size;
        format.keys = keys;
        return format;
    }
    /// A key, the length of the value, the value.
    static Format klv(std::uint64_t key_size, std::uint32_t length_size) {
        Format format;
        format.records = EAGRE_RECORDS_KLV;
        format.key_size = key_size;
        format.length_size = length_size;
        return format;
    }
    /// Lines in an order of GNU sort: keys as its -k has them ("2,2n"), the byte between fields as its -t has it (none: blanks), and
    /// letters of options, which keys without letters of their own inherit. All are copied.
    static Format text(std::vector<std::string> keys, std::string separator = "", std::string options = "") {
        auto text = std::make_shared<Text>();
        text->keys = std::move(keys);
        text->separator = std::move(separator);
        text->options = std::move(options);
        for (const std::string &key : text->keys) text->pointers.push_back(key.c_str());
        Format format;
        format.records = EAGRE_RECORDS_TEXT;
        format.text_keys = text->pointers.data();
        format.text_key_count = text->pointers.size();
        if (!text->separator.empty()) format.separator = text->separator.c_str();
        if (!text->options.empty()) format.text_options = text->options.c_str();
        format.text_ = std::move(text);
        return format;
    }
    /// The same, and fields may be in quotes. Commas separate them if nothing else is said.
    static Format csv(std::vector<std::string> keys, std::string separator = "", std::string options = "") {
        return text(std::move(keys), std::move(separator), std::move(options)).with(EAGRE_TEXT_CSV);
    }
    /// The same, and the largest key comes first.
    Format descending() const { return with(EAGRE_DESCENDING); }
    /// The same text, and lines with equal keys stay in the order of the input.
    Format stable() const { return with(EAGRE_TEXT_STABLE); }
    /// The same records of one size, and NaN of their keys come behind all numbers, in descending order too.
    Format nan_last() const { return with(EAGRE_FIXED_NAN_LAST); }

private:
    /// What pointers of text point to.
    struct Text {
        std::vector<std::string> keys;
        std::vector<const char *> pointers;
        std::string separator, options;
    };

    Format with(std::uint32_t flag) const {
        Format format = *this;
        format.flags |= flag;
        return format;
    }

    /// Shared by copies, so that their pointers stay valid.
    std::shared_ptr<const Text> text_;
};

/// How to sort files and streams: EagreFileSortOptions filled with the defaults.
struct FileSortOptions : EagreFileSortOptions {
    FileSortOptions() : EagreFileSortOptions() {
        detail::check(eagre_file_sort_options_default(this, sizeof(EagreFileSortOptions)));
    }
};

/// Which records of an index to write: EagreGatherOptions filled with the defaults, which are all.
struct GatherOptions : EagreGatherOptions {
    GatherOptions() : EagreGatherOptions() {
        detail::check(eagre_gather_options_default(this, sizeof(EagreGatherOptions)));
    }
};

namespace detail {

template <class Progress>
using IfFileProgress =
    std::enable_if_t<std::is_invocable_r_v<bool, Progress &, const char *, std::uint64_t, std::uint64_t>>;

/// A function that is told how far the work on files is, and what it threw.
template <class Progress> struct FileCall {
    Progress &progress;
    std::exception_ptr thrown;

    template <class Options> FileCall(Progress &function, Options &options) : progress(function) {
        options.context = this;
        options.progress = run;
    }
    void check(EagreStatus status) {
        if (thrown) std::rethrow_exception(thrown);
        detail::check(status);
    }
    static int run(void *context, const char *phase, std::uint64_t done, std::uint64_t total) noexcept {
        auto &call = *static_cast<FileCall *>(context);
        try {
            return call.progress(phase, done, total) ? 0 : 1;
        } catch (...) {
            call.thrown = std::current_exception();
            return 1;
        }
    }
};

} // namespace detail

/// Sorts a file of any size into another, or into itself. The output appears when it is complete.
inline EagreSortReport sort_file(const std::string &from, const std::string &to, const EagreFormat &format = Format(),
                                 const EagreFileSortOptions &options = FileSortOptions()) {
    EagreSortReport report{};
    detail::check(eagre_sort_file(from.c_str(), to.c_str(), &format, &options, &report, sizeof report));
    return report;
}

/// The same, and calls progress(phase, done, total) now and then, which returns false to end the sort with EAGRE_CANCELLED.
/// Any thread of the sort calls, one at a time. What it throws comes out here.
template <class Progress, class = detail::IfFileProgress<Progress>>
EagreSortReport sort_file(const std::string &from, const std::string &to, const EagreFormat &format, Progress &&progress,
                          EagreFileSortOptions options = FileSortOptions()) {
    detail::FileCall<Progress> call(progress, options);
    EagreSortReport report{};
    call.check(eagre_sort_file(from.c_str(), to.c_str(), &format, &options, &report, sizeof report));
    return report;
}

/// Writes the sorted index of a file: its keys, and where their records are. gather_file makes records of it.
inline EagreSortReport index_file(const std::string &from, const std::string &to, const EagreFormat &format = Format(),
                                  const EagreFileSortOptions &options = FileSortOptions()) {
    EagreSortReport report{};
    detail::check(eagre_index_file(from.c_str(), to.c_str(), &format, &options, &report, sizeof report));
    return report;
}

/// The same, and calls progress, as sort_file does.
template <class Progress, class = detail::IfFileProgress<Progress>>
EagreSortReport index_file(const std::string &from, const std::string &to, const EagreFormat &format, Progress &&progress,
                           EagreFileSortOptions options = FileSortOptions()) {
    detail::FileCall<Progress> call(progress, options);
    EagreSortReport report{};
    call.check(eagre_index_file(from.c_str(), to.c_str(), &format, &options, &report, sizeof report));
    return report;
}

/// Writes the records of data to a file, in the order of an index: all, or those of a range of ranks. Returns how many.
inline std::uint64_t gather_file(const std::string &index, const std::string &data, const std::string &to,
                                 const EagreGatherOptions &options = GatherOptions()) {
    std::uint64_t records = 0;
    detail::check(eagre_gather_file(index.c_str(), data.c_str(), to.c_str(), &options, &records));
    return records;
}

/// The same, and calls progress, as sort_file does; done and total are records.
template <class Progress, class = detail::IfFileProgress<Progress>>
std::uint64_t gather_file(const std::string &index, const std::string &data, const std::string &to, Progress &&progress,
                          EagreGatherOptions options = GatherOptions()) {
    detail::FileCall<Progress> call(progress, options);
    std::uint64_t records = 0;
    call.check(eagre_gather_file(index.c_str(), data.c_str(), to.c_str(), &options, &records));
    return records;
}

/// Sorts a stream into a stream: what is written to the writer comes out of the reader in order, after the writer has
/// finished. What does not fit into memory goes to temporary files.
inline Pipe sort_stream(const EagreFormat &format = Format(), const EagreFileSortOptions &options = FileSortOptions()) {
    EagreWriter *writer = nullptr;
    EagreReader *reader = nullptr;
    detail::check(eagre_sort_stream(&format, &options, &writer, &reader));
    return Pipe{Writer(writer), Reader(reader)};
}

namespace detail {

/// The bytes of whatever has its elements in a row.
template <class Range> ConstBytes bytes_of(const Range &range) {
    using Element = std::remove_pointer_t<decltype(std::data(range))>;
    static_assert(std::is_trivially_copyable_v<Element>, "records are bytes");
    return {reinterpret_cast<const unsigned char *>(std::data(range)), std::size(range) * sizeof(Element)};
}

} // namespace detail

/// Keys that cut records into parts: part n has the keys from boundary n - 1 on, and before boundary n.
class Boundaries {
public:
    explicit Boundaries(EagreBoundaries *handle) : handle_(handle) {
        data_ = detail::check(eagre_boundaries_keys(handle, &size_));
    }
    const EagreBytes *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    ConstBytes operator[](std::size_t at) const {
        return {static_cast<const unsigned char *>(data_[at].bytes), data_[at].size};
    }

private:
    detail::Handle<EagreBoundaries, eagre_boundaries_close> handle_;
    const EagreBytes *data_ = nullptr;
    std::size_t size_ = 0;
};

/// Chooses boundaries that cut records into parts of like size, from a sample of whole records: whatever has its elements in
/// a row (string, vector, span).
template <class Sample>
Boundaries sample_boundaries(const Sample &sample, std::size_t parts, const EagreFormat &format = Format()) {
    const ConstBytes bytes = detail::bytes_of(sample);
    EagreBoundaries *boundaries = nullptr;
    detail::check(eagre_sample_boundaries(bytes.data(), bytes.size(), parts, &format, &boundaries));
    return Boundaries(boundaries);
}

/// Writes records to out, which has as many bytes, in order, and returns where each part ends there, in bytes: one more than
/// boundaries (a Boundaries, or whatever has EagreBytes in a row).
template <class Records, class Keys, class Out>
std::vector<std::size_t> sort_and_partition(const Records &records, const Keys &boundaries, Out &&out,
                                            const EagreFormat &format = Format(),
                                            const EagreSortOptions &options = SortOptions()) {
    const ConstBytes from = detail::bytes_of(records), to = detail::bytes_of(out);
    if (from.size() != to.size()) throw std::invalid_argument("sort_and_partition: out is not as long as records");
    std::vector<std::size_t> ends(std::size(boundaries) + 1);
    void *start = std::data(out);
    detail::check(eagre_sort_and_partition(from.data(), from.size(), std::data(boundaries), std::size(boundaries), &format,
                                           &options, start, ends.data()));
    return ends;
}

/// Merges sources of sorted records. Equal keys come in the order of the sources.
class Merge {
public:
    /// All bytes are there. They stay the caller's.
    explicit Merge(const std::vector<ConstBytes> &sources, const EagreFormat &format = Format()) {
        open(sources, format, nullptr, nullptr);
    }
    /// refill(source, rest) gets more bytes of a source, of which rest were not merged yet: it returns the bytes that begin
    /// with these and have more behind them, or rest itself if there are no more. What it throws comes out of next.
    template <class Refill, class = std::enable_if_t<std::is_invocable_r_v<ConstBytes, Refill &, std::size_t, ConstBytes>>>
    Merge(const std::vector<ConstBytes> &sources, Refill refill, const EagreFormat &format = Format()) {
        auto call = std::make_shared<Call<Refill>>(std::move(refill));
        thrown_ = std::shared_ptr<std::exception_ptr>(call, &call->thrown);
        auto run = [](void *context, std::size_t source, EagreBytes *rest) noexcept -> int {
            auto &call = *static_cast<Call<Refill> *>(context);
            try {
                const ConstBytes more =
                    call.refill(source, ConstBytes(static_cast<const unsigned char *>(rest->bytes), rest->size));
                if (more.size() == rest->size) return 0;
                *rest = EagreBytes{more.data(), more.size()};
                return 1;
            } catch (...) {
                call.thrown = std::current_exception();
                return -EIO;
            }
        };
        open(sources, format, run, call.get());
    }
    /// The next record, which is valid until the next call; nothing at the end.
    std::optional<ConstBytes> next() {
        const void *record = nullptr;
        std::size_t size = 0;
        check(eagre_merge_next(handle_.get(), &record, &size));
        if (record == nullptr) return std::nullopt;
        return ConstBytes(static_cast<const unsigned char *>(record), size);
    }
    /// Copies as many whole records as there is room for, and returns how many bytes these are: 0 at the end.
    std::size_t copy_out(void *data, std::size_t size) {
        std::size_t copied = 0;
        check(eagre_merge_copy_out(handle_.get(), data, size, &copied));
        return copied;
    }

private:
    template <class Refill> struct Call {
        explicit Call(Refill &&function) : refill(std::move(function)) {}
        Refill refill;
        std::exception_ptr thrown;
    };

    void check(EagreStatus status) {
        if (status != EAGRE_OK && thrown_ && *thrown_) std::rethrow_exception(std::exchange(*thrown_, nullptr));
        detail::check(status);
    }
    void open(const std::vector<ConstBytes> &sources, const EagreFormat &format, EagreRefill refill, void *context) {
        std::vector<EagreBytes> all;
        for (const ConstBytes &source : sources) all.push_back(EagreBytes{source.data(), source.size()});
        EagreMerge *merge = nullptr;
        check(eagre_merge_open(all.data(), all.size(), &format, refill, context, &merge));
        handle_.reset(merge);
    }

    /// Owns the function too, which is there for as long as the merge.
    std::shared_ptr<std::exception_ptr> thrown_;
    detail::Handle<EagreMerge, eagre_merge_close> handle_;
};

/// By what to partition, and how: EagrePartitionOptions filled with the defaults.
struct PartitionOptions : EagrePartitionOptions {
    PartitionOptions() : EagrePartitionOptions() {
        detail::check(eagre_partition_options_default(this, sizeof(EagrePartitionOptions)));
    }
};

/// Keys in buckets, which it owns.
template <class T> class Partition {
public:
    explicit Partition(EagrePartition *handle) : handle_(handle) {}
    /// How many buckets there are.
    std::size_t size() const { return eagre_partition_ways(handle_.get()); }
    Span<T> operator[](std::size_t bucket) {
        std::size_t count = 0;
        void *keys = detail::check(eagre_partition_bucket(handle_.get(), bucket, &count));
        return {static_cast<T *>(keys), count};
    }

private:
    detail::Handle<EagrePartition, eagre_partition_close> handle_;
};

/// Copies keys into buckets, in one pass: whatever has them in a row (vector, array, span).
template <class Keys> auto partition(const Keys &keys, const EagrePartitionOptions &options = PartitionOptions()) {
    using Key = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(keys))>>;
    EagrePartition *partition = nullptr;
    detail::check(eagre_partition(std::data(keys), std::size(keys), detail::key_of<const Keys>(), &options, &partition));
    return Partition<Key>(partition);
}

/// A vector that grows without copying: elements never move, so pointers to them stay valid, and they need not be movable.
/// For few large vectors: memory comes in blocks, of 2 MiB usually.
template <class T> class vector {
public:
    using value_type = T;

    /// With addresses for limit elements, which cost no memory; 0: as many as the pool can hold.
    explicit vector(std::uint64_t limit = 0, const EagrePool *pool = nullptr) {
        EagreVector *handle = nullptr;
        detail::check(eagre_vector_open(sizeof(T), limit, pool, &handle));
        handle_.reset(handle);
        begin_ = end_ = full_ = static_cast<T *>(eagre_vector_data(handle));
    }
    vector(vector &&other) noexcept { swap(other); }
    vector &operator=(vector &&other) noexcept {
        swap(other);
        return *this;
    }
    ~vector() { clear(); }

    template <class... Arguments> T &emplace_back(Arguments &&...arguments) {
        if (end_ == full_) reserve(1);
        T *made = new (static_cast<void *>(end_)) T(std::forward<Arguments>(arguments)...);
        ++end_;
        return *made;
    }
    void push_back(const T &value) { emplace_back(value); }
    void push_back(T &&value) { emplace_back(std::move(value)); }
    void pop_back() noexcept { (--end_)->~T(); }
    /// Makes room for so many more, or throws.
    void reserve(std::size_t additional) {
        detail::check(eagre_vector_set_length(handle_.get(), size()));
        detail::check(eagre_vector_reserve(handle_.get(), additional));
        full_ = begin_ + eagre_vector_capacity(handle_.get());
    }
    /// Appends copies of the elements of a range that knows its size.
    template <class Range> void append(const Range &range) {
        reserve(std::size(range));
        for (const auto &value : range) emplace_back(value);
    }
    /// Destroys elements from the end, or appends new ones, until there are so many.
    void resize(std::size_t count) {
        while (size() > count) pop_back();
        if (count > size()) reserve(count - size());
        while (size() < count) emplace_back();
    }
    void clear() noexcept {
        while (end_ != begin_) pop_back();
    }
    /// Gives memory that is not needed back to the pool.
    void shrink_to_fit() {
        detail::check(eagre_vector_set_length(handle_.get(), size()));
        detail::check(eagre_vector_shrink_to_fit(handle_.get()));
        full_ = begin_ + eagre_vector_capacity(handle_.get());
    }

    T *data() noexcept { return begin_; }
    const T *data() const noexcept { return begin_; }
    T *begin() noexcept { return begin_; }
    const T *begin() const noexcept { return begin_; }
    T *end() noexcept { return end_; }
    const T *end() const noexcept { return end_; }
    T &operator[](std::size_t at) { return begin_[at]; }
    const T &operator[](std::size_t at) const { return begin_[at]; }
    T &back() { return end_[-1]; }
    const T &back() const { return end_[-1]; }
    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    std::size_t capacity() const noexcept { return static_cast<std::size_t>(full_ - begin_); }
    std::size_t limit() const noexcept { return eagre_vector_limit(handle_.get()); }

    void swap(vector &other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(full_, other.full_);
    }

private:
    detail::Handle<EagreVector, eagre_vector_close> handle_;
    // The length is kept here, and told when the library needs to know: appending is a comparison and a store.
    T *begin_ = nullptr, *end_ = nullptr, *full_ = nullptr;
};

} // namespace eagre

#endif
