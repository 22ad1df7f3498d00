// Records a speculative loop as a specstep trace. Copy this file into your engine: C++17, the standard library alone.
//
//   specstep::Probe probe("run.msgpack");
//   probe.begin(prompt, Map{}.put("name", "my-model").put("vocab_size", 151936),
//               Map{}.put("kind", "mtp").put("name", "my-head"), Map{}.put("k", 3));
//   probe.prefill(prompt.size(), t1);
//   probe.round("one-pass", t1, drafts, targets, take);  // after each round
//   probe.end("max_tokens");
//
// recordings/FORMAT.md says what the records mean and which other keys there are; recordings/exporters/README.md how to
// go about it.
#ifndef SPECSTEP_PROBE_HPP
#define SPECSTEP_PROBE_HPP
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace specstep {

using Tokens = std::vector<int>;
using Pieces = std::map<int, std::string>; // the bytes of each token
using Candidates = std::vector<std::vector<std::pair<int, double>>>; // for each row (token id, logit), best first

class Map;

// Appends MessagePack to `bytes`.
struct Packer {
    std::string bytes = {};

    template <class Value> void pack(const Value &value) {
        if constexpr (std::is_same_v<Value, bool>) byte(value ? 0xc3 : 0xc2);
        else if constexpr (std::is_same_v<Value, std::nullptr_t>) byte(0xc0);
        else if constexpr (std::is_integral_v<Value>) integer(static_cast<std::int64_t>(value));
        else if constexpr (std::is_floating_point_v<Value>) real(static_cast<double>(value));
        else text(value);
    }
    template <class Item> void pack(const std::vector<Item> &items) {
        head(items.size(), 0x90, 16, 0, 0xdc);
        for (const Item &item : items) pack(item);
    }
    template <class A, class B> void pack(const std::pair<A, B> &both) {
        head(2, 0x90, 16, 0, 0xdc);
        pack(both.first);
        pack(both.second);
    }
    void pack(const Pieces &pieces) {
        head(pieces.size(), 0x80, 16, 0, 0xde);
        for (const auto &[id, piece] : pieces) {
            integer(id);
            head(piece.size(), 0, 0, 0xc4, 0xc5);
            bytes += piece;
        }
    }
    void pack(const Map &map);

    void text(std::string_view value) {
        head(value.size(), 0xa0, 32, 0xd9, 0xda);
        bytes += value;
    }
    void integer(std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        if (value >= -32 && value < 128) byte(static_cast<unsigned>(bits & 0xff));
        else if (value < 0) byte(0xd3), big_endian(bits, 8);
        else if (value < 0x10000) byte(0xcd), big_endian(bits, 2);
        else if (value <= 0xffffffff) byte(0xce), big_endian(bits, 4);
        else byte(0xcf), big_endian(bits, 8);
    }
    void real(double value) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        byte(0xcb), big_endian(bits, 8);
    }
    // A length: within the byte `tiny` if it is under `room`, else behind the byte `one`, if there is one, `two` or the
    // one after it, in 1, 2 or 4 bytes.
    void head(std::size_t size, unsigned tiny, std::size_t room, unsigned one, unsigned two) {
        if (size < room) return byte(tiny | static_cast<unsigned>(size));
        const int width = one != 0 && size < 0x100 ? 1 : size < 0x10000 ? 2 : 4;
        byte(width == 1 ? one : width == 2 ? two : two + 1);
        big_endian(size, width);
    }
    void big_endian(std::uint64_t value, int width) {
        for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) byte(static_cast<unsigned>(value >> shift & 0xff));
    }
    void byte(unsigned value) { bytes += static_cast<char>(value); }
};

// Keys and values: truth values, numbers, text, nullptr, maps, token bytes, and vectors and pairs of these.
class Map {
  public:
    // A key that is there already gets the new value.
    template <class Value> Map &put(std::string_view key, const Value &value) {
        Packer packer;
        packer.pack(value);
        return set(std::string(key), packer.bytes);
    }
    Map &join(const Map &more) {
        for (const auto &[key, value] : more.pairs_) set(key, value);
        return *this;
    }
    bool empty() const { return pairs_.empty(); }

  private:
    friend struct Packer;
    Map &set(const std::string &key, const std::string &value) {
        for (auto &pair : pairs_)
            if (pair.first == key) return pair.second = value, *this;
        return pairs_.emplace_back(key, value), *this;
    }
    std::vector<std::pair<std::string, std::string>> pairs_; // values as they are packed
};

inline void Packer::pack(const Map &map) {
    head(map.pairs_.size(), 0x80, 16, 0, 0xde);
    for (const auto &[key, value] : map.pairs_) text(key), bytes += value;
}

// Call `begin`, `prefill`, `round` after each round, and `end`. Every record is one write, so that a crash costs the one
// that it interrupts. `more` are further keys, or other values for those that are worked out here.
class Probe {
  public:
    explicit Probe(const std::string &path) : file_(std::fopen(path.c_str(), "wb")), owned_(true) {
        using std::filesystem::perms;
        std::error_code failed; // a trace may hold private text: the file is its owner's alone
        if (std::filesystem::is_regular_file(path, failed))
            std::filesystem::permissions(path, perms::owner_read | perms::owner_write, failed);
        unbuffered();
    }
    explicit Probe(std::FILE *stream) : file_(stream), owned_(false) { unbuffered(); }
    ~Probe() {
        if (owned_ && file_ != nullptr) std::fclose(file_);
    }
    Probe(const Probe &) = delete;
    Probe &operator=(const Probe &) = delete;

    // Whether all was written so far; a run need not care.
    bool good() const { return file_ != nullptr && !failed_; }
    int rounds() const { return rounds_; }
    int pos() const { return pos_; }
    int emitted() const { return emitted_; }

    // An empty `drafter` is plain decoding.
    void begin(const Tokens &prompt, const Map &base, const Map &drafter, const Map &options, const Map &more = {}) {
        Map header;
        header.put("format", "specstep").put("version", 1).put("minor", 0).put("base", base).put("drafter", nullptr);
        if (!drafter.empty()) header.put("drafter", drafter);
        write("header", header.put("options", options).put("prompt", prompt).put("detail", "full").join(more));
        rounds_ = pos_ = emitted_ = 0;
    }
    // Before the first record with these tokens; each once.
    void pieces(const Pieces &pieces) { write("tokens", Map{}.put("pieces", pieces)); }
    void prefill(std::size_t positions, int first, const Map &more = {}) {
        pos_ = static_cast<int>(positions);
        write("prefill", Map{}.put("positions", pos_).put("next", first).join(more));
    }
    void round(const char *form, int t1, const Tokens &drafts, const Tokens &targets, int take, const Map &more = {}) {
        Tokens out{t1};
        out.insert(out.end(), drafts.begin(), drafts.begin() + std::clamp(take, 0, static_cast<int>(drafts.size())));
        round(form, t1, drafts, targets, take, out, more);
    }
    // A round that emitted something else than t1 and the drafts taken. No `targets`: the base was not asked.
    void round(const char *form, int t1, const Tokens &drafts, const Tokens &targets, int take, const Tokens &out,
               const Map &more) {
        Map row;
        row.put("index", rounds_).put("form", form).put("pos", pos_).put("t1", t1).put("drafts", drafts);
        row.put("take", take).put("emitted", out);
        rounds_ += 1;
        pos_ += static_cast<int>(out.size());
        emitted_ += static_cast<int>(out.size());
        const auto last = static_cast<std::size_t>(take);
        if (!targets.empty()) row.put("targets", targets).put("consumed", pos_);
        if (last < targets.size()) row.put("next", targets[last]);
        write("round", row.join(more));
    }
    void event(const char *code, std::string_view message, const char *level = "info") {
        Map said;
        rounds_ > 0 ? said.put("round", rounds_ - 1) : said.put("round", nullptr);
        write("event", said.put("level", level).put("code", code).put("message", message));
    }
    void end(const char *reason, const Map &more = {}) {
        Map end;
        write("end", end.put("reason", reason).put("rounds", rounds_).put("emitted", emitted_).join(more));
    }
    // A fork: after the first `rounds` rounds of the run, which emitted so many tokens and end at `pos`.
    void go_back(int rounds, int pos, int emitted) { rounds_ = rounds, pos_ = pos, emitted_ = emitted; }
    // Any record.
    void write(const char *type, const Map &fields) {
        Packer packer;
        packer.pack(Map{}.put("type", type).join(fields));
        if (good()) failed_ = std::fwrite(packer.bytes.data(), 1, packer.bytes.size(), file_) != packer.bytes.size();
    }

  private:
    void unbuffered() {
        if (file_ != nullptr) std::setvbuf(file_, nullptr, _IONBF, 0);
    }

    std::FILE *file_;
    bool owned_, failed_ = false;
    int rounds_ = 0, pos_ = 0, emitted_ = 0;
};

} // namespace specstep
#endif
