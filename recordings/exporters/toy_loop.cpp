// A speculative loop in C++ that records itself as a specstep trace, with stock msgpack-cxx and nothing else.
//
//   c++ -std=c++17 toy_loop.cpp -o toy_loop && ./toy_loop run.msgpack && specstep run.msgpack
//
// What an engine copies is `Trace`. The base here is a function of position and token, the drafter the same function with
// a mistake now and then; yours are models. Records are described in recordings/FORMAT.md.
#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <msgpack.hpp>
#include <string>
#include <vector>

using Tokens = std::vector<int>;
using Packer = msgpack::packer<msgpack::sbuffer>;

// Writes each record whole, with one flush, so that a crash costs at most the record that it interrupts.
class Trace {
  public:
    explicit Trace(const char *path) : file_(std::fopen(path, "wb")) {}
    ~Trace() {
        if (file_ != nullptr) std::fclose(file_);
    }
    Trace(const Trace &) = delete;
    Trace &operator=(const Trace &) = delete;
    bool good() const { return file_ != nullptr && !failed_; }

    // `keys` is how many pairs `fill` packs after the type.
    template <class Fill> void record(const char *type, uint32_t keys, Fill fill) {
        if (!good()) return;
        msgpack::sbuffer bytes;
        Packer packer(bytes);
        packer.pack_map(keys + 1);
        put(packer, "type", type);
        fill(packer);
        failed_ = std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size() || std::fflush(file_) != 0;
    }

    template <class Value> static void put(Packer &packer, const char *key, const Value &value) {
        packer.pack(key);
        packer.pack(value);
    }

  private:
    std::FILE *file_;
    bool failed_ = false;
};

constexpr int kVocab = 50, kDrafts = 4, kTokens = 60, kEos = 0;

int base_choice(int pos, int token) { return 1 + (7 * token + 3 * pos + token * token) % (kVocab - 1); }
int drafter_guess(int pos, int token) { return pos % 5 == 0 ? 1 + pos % 40 : base_choice(pos, token); }

double since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

void header(Trace &trace, const Tokens &prompt) {
    trace.record("header", 8, [&](Packer &p) {
        Trace::put(p, "format", "specstep");
        Trace::put(p, "version", 1);
        Trace::put(p, "minor", 0);
        p.pack("base").pack_map(2);
        Trace::put(p, "name", "toy in C++");
        Trace::put(p, "vocab_size", kVocab);
        p.pack("drafter").pack_map(2);
        Trace::put(p, "kind", "scripted");
        Trace::put(p, "name", "now and then wrong");
        p.pack("options").pack_map(5);
        Trace::put(p, "form", "one-pass");
        Trace::put(p, "k", kDrafts);
        Trace::put(p, "max_tokens", kTokens);
        Trace::put(p, "temperature", 0.0);
        Trace::put(p, "stop_tokens", Tokens{kEos});
        Trace::put(p, "prompt", prompt);
        Trace::put(p, "detail", "full");
    });
}

void pieces(Trace &trace) {
    trace.record("tokens", 1, [&](Packer &p) {
        p.pack("pieces").pack_map(kVocab);
        for (int id = 0; id < kVocab; ++id) {
            const std::string piece = " t" + std::to_string(id);
            p.pack(id).pack_bin(static_cast<uint32_t>(piece.size())).pack_bin_body(piece.data(), static_cast<uint32_t>(piece.size()));
        }
    });
}

int main(int argc, char **argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: toy_loop TRACE\n"), 2;
    Trace trace(argv[1]);
    const Tokens prompt{3, 14, 15};
    header(trace, prompt);
    pieces(trace);

    int pos = static_cast<int>(prompt.size()), t1 = base_choice(pos - 1, prompt.back());
    trace.record("prefill", 3, [&](Packer &p) {
        Trace::put(p, "positions", pos);
        Trace::put(p, "batched", true);
        Trace::put(p, "next", t1);
    });

    int rounds = 0, emitted = 0;
    for (; emitted < kTokens; ++rounds) {
        const int limit = std::min(kDrafts, kTokens - emitted - 1);
        auto began = std::chrono::steady_clock::now();
        Tokens drafts, targets;
        for (int j = 0, token = t1; j < limit; ++j) drafts.push_back(token = drafter_guess(pos + j, token));
        const double draft_ms = since(began);

        began = std::chrono::steady_clock::now();
        targets.push_back(base_choice(pos, t1)); // row 0, then a row for each draft
        for (int j = 0; j < limit; ++j) targets.push_back(base_choice(pos + j + 1, drafts[j]));
        const double verify_ms = since(began);

        int take = 0;
        while (take < limit && drafts[take] == targets[take]) ++take;
        Tokens out{t1};
        out.insert(out.end(), drafts.begin(), drafts.begin() + take);

        const bool plain = limit == 0;
        trace.record("round", 12 + (plain || limit < kDrafts), [&](Packer &p) {
            Trace::put(p, "index", rounds);
            Trace::put(p, "form", plain ? "plain" : "one-pass");
            if (plain) Trace::put(p, "reason", "budget");
            if (!plain && limit < kDrafts) Trace::put(p, "cut", "budget");
            Trace::put(p, "pos", pos);
            Trace::put(p, "t1", t1);
            Trace::put(p, "limit", limit);
            Trace::put(p, "drafts", drafts);
            Trace::put(p, "targets", targets);
            Trace::put(p, "take", take);
            Trace::put(p, "emitted", out);
            Trace::put(p, "next", targets[take]); // the t1 of the next round, no part of this one
            Trace::put(p, "consumed", pos + take + 1);
            p.pack("ms").pack_map(plain ? 1 : 2);
            if (!plain) Trace::put(p, "draft", draft_ms);
            Trace::put(p, plain ? "step" : "verify", verify_ms);
        });
        pos += take + 1;
        emitted += take + 1;
        t1 = targets[take];
    }
    trace.record("end", 3, [&](Packer &p) {
        Trace::put(p, "reason", "max_tokens");
        Trace::put(p, "rounds", rounds);
        Trace::put(p, "emitted", emitted);
    });
    if (!trace.good()) return std::fprintf(stderr, "toy_loop: %s cannot be written\n", argv[1]), 1;
    return 0;
}
