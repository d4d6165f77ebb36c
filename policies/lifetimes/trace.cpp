// Replay of a trace of events: nodes are removed and added. Each node is one slot, in the order in which the
// trace names them first.
#include <algorithm>
#include <cmath>

#include "policies/lifetimes/models.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::lifetimes {
namespace {

struct Event {
  double time;
  std::string kind;
  std::string node;
};

[[noreturn]] void refuse(const std::string& expected, const std::string& found) {
  throw OptionError("trace", "events", expected, found);
}

Event event_of(const std::string& text) {
  const auto words = split(text, ' ');
  if (words.size() != 3) refuse("TIME add|remove|warn NODE", text);
  const auto time = parse_number<double>(words[0]);
  if (!time || !std::isfinite(*time) || *time < 0.0) refuse("a time in seconds of at least 0", text);
  if (words[1] != "add" && words[1] != "remove" && words[1] != "warn") refuse("add, remove or warn", text);
  return {*time, words[1], words[2]};
}

class TraceFates final : public KnownFates {
 public:
  explicit TraceFates(const FatesSetting& setting) : rules_(setting.options), seed_(setting.seed) {
    double before = 0.0;
    for (const auto& part : split(setting.options.text("events"), ';')) {
      const Event event = event_of(part);
      if (event.time < before)
        refuse("events in the order of time, so from " + to_text(before) + " on", part);
      before = event.time;
      add(event, part);
    }
  }

  double obtainable(std::size_t slot, double time) override {
    if (slot >= nodes_.size()) return time;
    for (const auto& period : nodes_[slot].periods)
      if (time < period.end) return std::max(time, period.begin);
    return infinity;
  }

 protected:
  Departure departure_of(Occupant occupant, double time) override {
    Rng rng = stream_of(seed_, occupant);
    How how = rules_.how(rng);
    double end = infinity;
    if (occupant.slot < nodes_.size()) {
      const auto& periods = nodes_[occupant.slot].periods;
      const auto period = std::ranges::find_if(periods, [time](const Period& p) { return time < p.end; });
      end = period->end;
      if (has_warnings_) how = period->is_warned ? How::revoked : How::lost;
    }
    return {time + rules_.bounded(end - time), occupant, how};
  }

 private:
  /// A time in which the node exists.
  struct Period {
    double begin = 0.0;
    double end = infinity;
    bool is_warned = false;
  };
  struct Node {
    std::string name;
    std::vector<Period> periods;
  };

  void add(const Event& event, const std::string& text) {
    auto node = std::ranges::find(nodes_, event.node, &Node::name);
    const bool adds = event.kind == "add";
    if (node == nodes_.end()) {
      // A node that the trace does not add first was there from the start.
      nodes_.push_back({event.node, {}});
      node = nodes_.end() - 1;
      if (!adds) node->periods.emplace_back();
    }
    const bool is_present = !node->periods.empty() && std::isinf(node->periods.back().end);
    if (adds == is_present) refuse(adds ? "a node that was removed" : "a node that is there", text);
    if (adds)
      node->periods.push_back({event.time, infinity, false});
    else if (event.kind == "remove")
      node->periods.back().end = event.time;
    else
      has_warnings_ = node->periods.back().is_warned = true;
  }

  CommonRules rules_;
  std::uint64_t seed_;
  std::vector<Node> nodes_;
  bool has_warnings_ = false;
};

}  // namespace

Entry trace() {
  return {.name = "trace",
          .summary =
              "replays events; where the trace has warnings, a removal without one is a loss without notice",
          .paper = "",
          .options =
              {{"events",
                "in the order of time, separated by semicolons: \"TIME add|remove|warn NODE\", in seconds; "
                "the first node is the first slot",
                std::string()}},
          .make = {.lifetime = nullptr, .fates = make_fates_of<TraceFates>, .is_drawn = false}};
}

}  // namespace tandem::lifetimes
