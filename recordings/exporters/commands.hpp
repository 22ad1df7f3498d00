// Takes the commands of recordings/PROTOCOL.md on stdin, so that specstep can step your engine. Copy this file, and
// probe.hpp, into it: C++17, the standard library alone. toy_engine.cpp shows how the two are used.
#ifndef SPECSTEP_COMMANDS_HPP
#define SPECSTEP_COMMANDS_HPP
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#else
#include <unistd.h>
#endif

namespace specstep {

// stdout for records alone: what printf, std::cout and libraries write there from now on goes to stderr.
inline std::FILE *claim_stdout() {
    std::fflush(stdout);
#ifdef _WIN32
    const int ours = _dup(1);
    _dup2(2, 1);
    _setmode(ours, _O_BINARY);
    _setmode(0, _O_BINARY);
    return _fdopen(ours, "wb");
#else
    const int ours = dup(1);
    dup2(2, 1);
    return fdopen(ours, "wb");
#endif
}

// A MessagePack value: of its members only that of its kind is set. What is not there is nil.
struct Value {
    bool nil = true;
    std::int64_t number = 0; // also true and false
    double real = 0;         // also of a whole number
    std::string text;        // also bytes
    std::vector<Value> items;
    std::vector<std::pair<std::string, Value>> pairs; // those whose keys are text

    const Value &operator[](std::string_view key) const {
        static const Value nothing;
        for (const auto &[name, value] : pairs)
            if (name == key) return value;
        return nothing;
    }
    int or_else(int usual) const { return nil ? usual : static_cast<int>(number); }
    std::vector<int> ids() const {
        std::vector<int> all;
        for (const Value &item : items) all.push_back(item.or_else(0));
        return all;
    }
};

// Reads MessagePack from a stream. Throws std::runtime_error at its end, and where it is damaged.
class Unpacker {
  public:
    explicit Unpacker(std::FILE *stream) : stream_(stream) {}

    Value value(int depth = 0) {
        if (depth > 16) throw std::runtime_error("nested deeper than 16");
        const unsigned tag = byte();
        Value made;
        made.nil = tag == 0xc0;
        if (tag < 0x80) made.number = tag;
        else if (tag < 0x90) map(made, tag & 0x0f, depth);
        else if (tag < 0xa0) array(made, tag & 0x0f, depth);
        else if (tag < 0xc0) text(made, tag & 0x1f);
        else if (tag >= 0xe0) made.number = static_cast<std::int8_t>(tag);
        else if (tag == 0xc0 || tag == 0xc2 || tag == 0xc3) made.number = tag == 0xc3;
        else if (tag >= 0xc4 && tag <= 0xc6) text(made, bits(1 << (tag - 0xc4)));
        else if (tag == 0xca || tag == 0xcb) return real(tag == 0xca ? 4 : 8);
        else if (tag >= 0xcc && tag <= 0xcf) made.number = static_cast<std::int64_t>(bits(1 << (tag - 0xcc)));
        else if (tag >= 0xd0 && tag <= 0xd3) made.number = negative(1 << (tag - 0xd0));
        else if (tag >= 0xd9 && tag <= 0xdb) text(made, bits(1 << (tag - 0xd9)));
        else if (tag == 0xdc || tag == 0xdd) array(made, bits(tag == 0xdc ? 2 : 4), depth);
        else if (tag == 0xde || tag == 0xdf) map(made, bits(tag == 0xde ? 2 : 4), depth);
        else throw std::runtime_error("a byte that begins no value");
        made.real = static_cast<double>(made.number);
        return made;
    }

  private:
    unsigned byte() {
        const int got = std::getc(stream_);
        if (got == EOF) throw std::runtime_error("the end");
        return static_cast<unsigned>(got);
    }
    std::uint64_t bits(int width) {
        std::uint64_t made = 0;
        for (int i = 0; i < width; ++i) made = made << 8 | byte();
        return made;
    }
    std::int64_t negative(int width) {
        const int unused = 64 - 8 * width;
        return static_cast<std::int64_t>(bits(width) << unused) >> unused;
    }
    Value real(int width) {
        Value made;
        made.nil = false;
        const std::uint64_t raw = bits(width);
        const auto low = static_cast<std::uint32_t>(raw);
        float narrow = 0;
        if (width == 4) std::memcpy(&narrow, &low, sizeof narrow), made.real = static_cast<double>(narrow);
        else std::memcpy(&made.real, &raw, sizeof raw);
        return made;
    }
    // Nothing is allocated for a size that was only claimed.
    void text(Value &made, std::uint64_t size) {
        for (; size > 0; --size) made.text += static_cast<char>(byte());
    }
    void array(Value &made, std::uint64_t size, int depth) {
        for (; size > 0; --size) made.items.push_back(value(depth + 1));
    }
    void map(Value &made, std::uint64_t size, int depth) {
        for (; size > 0; --size) {
            Value key = value(depth + 1);
            made.pairs.emplace_back(std::move(key.text), value(depth + 1));
        }
    }

    std::FILE *stream_;
};

// The commands in turn, read by a thread of their own, because a pause overtakes.
class Commands {
  public:
    explicit Commands(std::FILE *stream = stdin) {
        std::thread([this, stream] { read(stream); }).detach();
    }

    // Waits for the next one. The end of stdin, and damage there, is a `quit` after all that came before.
    Value next() {
        std::unique_lock<std::mutex> lock(mutex_);
        come_.wait(lock, [this] { return !waiting_.empty(); });
        Value command = std::move(waiting_.front());
        waiting_.pop_front();
        if (overtakes(command)) --overtaking_;
        return command;
    }
    // Whether a `pause` or a `quit` came after the command that is being carried out: make no other round.
    bool interrupted() const { return overtaking_ > 0; }

  private:
    static bool overtakes(const Value &command) {
        return command["command"].text == "pause" || (command["command"].text == "quit" && !command["id"].nil);
    }
    void read(std::FILE *stream) {
        Unpacker unpacker(stream);
        try {
            for (;;) put(unpacker.value());
        } catch (const std::runtime_error &) {
            Value name, quit;
            name.nil = quit.nil = false;
            name.text = "quit";
            quit.pairs.emplace_back("command", name);
            put(std::move(quit));
        }
    }
    void put(Value command) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (overtakes(command)) ++overtaking_;
        waiting_.push_back(std::move(command));
        come_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable come_;
    std::deque<Value> waiting_;
    std::atomic<int> overtaking_{0};
};

} // namespace specstep
#endif
