// An engine in C++ that specstep steps, pauses, takes back and forks: it speaks recordings/PROTOCOL.md.
//
//   c++ -std=c++17 -pthread toy_engine.cpp -o toy_engine && specstep --engine ./toy_engine
//
// What an engine copies is probe.hpp, commands.hpp and `main`; `Engine` is a toy, with a cache that is cut after each
// round. The one thing asked of yours beyond a loop is that it makes one round at a time.
#include "commands.hpp"
#include "probe.hpp"
#include <cstdlib>

using specstep::Map;
using specstep::Tokens;
using specstep::Value;

constexpr int kVocab = 50;

class Engine {
  public:
    explicit Engine(std::FILE *out) : probe_(out) {}

    // A run, from its beginning or as a fork after the first `kept` rounds.
    void begin(int kept = -1) {
        Map run = Map{}.put("id", "toy").put("branch", branches_ == 0 ? "main" : "fork" + std::to_string(branches_));
        if (kept >= 0) run.put("parent", parent_).put("forked_at", kept);
        const Map options = Map{}.put("form", "one-pass").put("k", k_).put("max_tokens", max_tokens_).put("temperature", 0.0);
        probe_.begin(prompt_, Map{}.put("name", "toy in C++").put("vocab_size", kVocab),
                     Map{}.put("kind", "scripted").put("name", "now and then wrong"), options, Map{}.put("run", run));
        specstep::Pieces pieces;
        for (int id = 0; id < kVocab; ++id) pieces[id] = " t" + std::to_string(id);
        probe_.pieces(pieces);
        probe_.prefill(prompt_.size(), choice(prompt_));
    }

    void step() {
        Tokens text = text_, drafts, targets;
        const int t1 = choice(text), limit = std::min(k_, max_tokens_ - emitted() - 1);
        text.push_back(t1);
        while (static_cast<int>(drafts.size()) < limit) {
            drafts.push_back(text.size() % 5 == 0 ? 1 : choice(text));
            text.push_back(drafts.back());
        }
        // The verify pass: the base's choice after t1, and after each draft.
        const auto before = static_cast<std::ptrdiff_t>(text_.size());
        for (int row = 0; row <= limit; ++row) targets.push_back(choice({text.begin(), text.begin() + before + 1 + row}));
        int take = 0;
        while (take < limit && drafts[take] == targets[take]) ++take;
        text.resize(text_.size() + 1 + take); // the rollback

        Map more = Map{}.put("limit", limit).put("state", Map{}.put("kv_len", text.size()));
        if (limit == 0) more.put("reason", "budget");
        else if (limit < k_) more.put("cut", "budget");
        lengths_.push_back(text_.size());
        text_ = std::move(text);
        probe_.round(limit == 0 ? "plain" : "one-pass", t1, drafts, targets, take, more);
        if (over()) end("max_tokens");
    }

    bool over() const { return emitted() >= max_tokens_; }
    int rounds() const { return static_cast<int>(lengths_.size()); }

    void end(const char *reason) {
        if (!ended_) probe_.end(reason);
        ended_ = true;
    }

    // The rounds up to `round`, then those that come along; then by other options. Returns what is wrong with that.
    std::string fork(const Value &command) {
        const int kept = command["round"].or_else(0);
        const Value &options = command["options"], &drafter = command["drafter"];
        if (kept < 0 || kept > rounds()) return "there are " + std::to_string(rounds()) + " rounds";
        if (!drafter.nil) return "this engine has one drafter";
        for (const auto &[key, value] : options.pairs)
            if (key != "k" && key != "max_tokens") return "this engine forks by no other " + key;
        end("aborted");
        ended_ = false;
        parent_ = branches_ == 0 ? "main" : "fork" + std::to_string(branches_);
        branches_ += 1;
        if (kept < rounds()) text_.resize(lengths_[static_cast<std::size_t>(kept)]); // your cache, cut
        lengths_.resize(static_cast<std::size_t>(kept));
        k_ = options["k"].or_else(k_);
        max_tokens_ = options["max_tokens"].or_else(max_tokens_);
        const auto &given = command["rounds"].items;
        begin(kept + static_cast<int>(given.size()));
        probe_.go_back(kept, static_cast<int>(text_.size()), emitted());
        for (const Value &round : given) {
            lengths_.push_back(text_.size());
            const Tokens fed = round["emitted"].ids(); // in a pass of their own: your base has to hold them
            text_.insert(text_.end(), fed.begin(), fed.end());
            probe_.round(round["form"].text.c_str(), round["t1"].or_else(0), round["drafts"].ids(), {},
                         round["take"].or_else(0), fed, Map{}.put("next", choice(text_)).put("consumed", text_.size()));
        }
        if (over()) end("max_tokens");
        return "";
    }

    void hello() {
        using Names = std::vector<std::string>;
        Map map = Map{}.put("protocol", 1).put("format", "specstep").put("version", 1).put("minor", 0);
        map.put("writer", Map{}.put("name", "toy_engine").put("version", "1")).put("waiting", false);
        map.put("commands", Names{"step", "run", "pause", "rewind", "fork", "quit"});
        probe_.write("hello", map.put("conditions", Names{"end"}).put("options", Names{"k", "max_tokens"}));
    }

    void done(const Value &command, const char *why, const std::string &message = "") {
        Map map = Map{}.put("id", command["id"].or_else(0)).put("why", why).put("rounds", rounds());
        if (!message.empty()) map.put("message", message);
        probe_.write("done", map);
    }

  private:
    int emitted() const { return static_cast<int>(text_.size() - prompt_.size()); }
    static int choice(const Tokens &text) {
        const int pos = static_cast<int>(text.size()) - 1, token = text.back();
        return 1 + (7 * token + 3 * pos + token * token) % (kVocab - 1);
    }

    specstep::Probe probe_;
    const Tokens prompt_{3, 14, 15};
    Tokens text_ = prompt_;            // what the base holds
    std::vector<std::size_t> lengths_; // how much that was before each round
    int k_ = 4, max_tokens_ = 60, branches_ = 0;
    bool ended_ = false;
    std::string parent_;
};

int main() {
    Engine engine(specstep::claim_stdout()); // before anything that may print
    specstep::Commands commands;
    engine.hello();
    engine.begin(); // load the models here
    engine.done({}, "opened");
    for (;;) {
        const Value command = commands.next();
        const std::string &name = command["command"].text;
        if (name == "step" || name == "run") {
            const bool all = name == "run" && command["rounds"].nil;
            if (name == "run" && !command["until"].nil && command["until"].text != "end") {
                engine.done(command, "refused", "this engine knows no condition but end");
                continue;
            }
            int left = command["rounds"].or_else(1);
            while (!engine.over() && !commands.interrupted() && (all || left > 0)) engine.step(), --left;
            engine.done(command, engine.over() ? "ended" : all || left > 0 ? "paused" : "stepped");
        } else if (name == "pause") {
            engine.done(command, "paused");
        } else if (name == "rewind" || name == "fork") {
            const std::string wrong = engine.fork(command);
            engine.done(command, wrong.empty() ? "forked" : "refused", wrong);
        } else if (name == "quit") {
            engine.end("aborted");
            engine.done(command, "quit");
            std::_Exit(0); // at once: a thread still waits for stdin
        } else {
            engine.done(command, "refused", "this engine cannot " + (name.empty() ? "read that" : name));
        }
    }
}
