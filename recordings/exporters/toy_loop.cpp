// A speculative loop in C++ that records itself as a specstep trace.
//
//   c++ -std=c++17 toy_loop.cpp -o toy_loop && ./toy_loop run.msgpack && specstep run.msgpack
//
// What an engine copies is probe.hpp. The base here is a function of position and token, the drafter the same function
// with a mistake now and then; yours are models. recordings/FORMAT.md describes the records.
#include "probe.hpp"
#include <chrono>

using specstep::Map;
using specstep::Tokens;

constexpr int kVocab = 50, kDrafts = 4, kTokens = 60, kEos = 0;

int base_choice(int pos, int token) { return 1 + (7 * token + 3 * pos + token * token) % (kVocab - 1); }
int drafter_guess(int pos, int token) { return pos % 5 == 0 ? 1 + pos % 40 : base_choice(pos, token); }

double since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

int main(int argc, char **argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: toy_loop TRACE\n"), 2;
    specstep::Probe probe(argv[1]);
    const Tokens prompt{3, 14, 15};
    const Map options = Map{}
                            .put("form", "one-pass")
                            .put("k", kDrafts)
                            .put("max_tokens", kTokens)
                            .put("temperature", 0.0)
                            .put("stop_tokens", Tokens{kEos});
    probe.begin(prompt, Map{}.put("name", "toy in C++").put("vocab_size", kVocab),
                Map{}.put("kind", "scripted").put("name", "now and then wrong"), options);
    specstep::Pieces pieces;
    for (int id = 0; id < kVocab; ++id) pieces[id] = " t" + std::to_string(id);
    probe.pieces(pieces);

    int t1 = base_choice(static_cast<int>(prompt.size()) - 1, prompt.back());
    probe.prefill(prompt.size(), t1, Map{}.put("batched", true));

    while (probe.emitted() < kTokens) {
        const int pos = probe.pos(), limit = std::min(kDrafts, kTokens - probe.emitted() - 1);
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

        Map more = Map{}.put("limit", limit);
        if (limit == 0) {
            more.put("reason", "budget").put("ms", Map{}.put("step", verify_ms));
        } else {
            if (limit < kDrafts) more.put("cut", "budget");
            more.put("ms", Map{}.put("draft", draft_ms).put("verify", verify_ms));
        }
        probe.round(limit == 0 ? "plain" : "one-pass", t1, drafts, targets, take, more);
        t1 = targets[take]; // decided by this round, emitted by the next
    }
    probe.end("max_tokens");
    if (!probe.good()) return std::fprintf(stderr, "toy_loop: %s cannot be written\n", argv[1]), 1;
    return 0;
}
