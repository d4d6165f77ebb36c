// Events and decisions as single lines for decisions.csv. Events read back exactly, so that they can be
// replayed.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <utility>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {
namespace {

constexpr std::array payload_names = {"gradient", "change", "model"};

std::string number(double value) { return tandem::to_text(OptionValue(value)); }

std::string list(const std::vector<int>& members) {
  std::string text;
  for (const int member : members) text += (text.empty() ? "" : ",") + std::to_string(member);
  return text;
}

/// The parts of "name key=value ...".
struct Fields {
  std::string name;
  std::map<std::string, std::string> values;

  Fields(const std::string& text, std::string side) : text_(text), side_(std::move(side)) {
    std::istringstream words(text);
    words >> name;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) fail();
      values[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  template <class Number>
  Number get(const std::string& key) const {
    return read<Number>(text(key));
  }
  std::vector<int> integers(const std::string& key) const {
    std::vector<int> all;
    std::istringstream items(text(key));
    for (std::string item; std::getline(items, item, ',');) all.push_back(read<int>(item));
    return all;
  }
  Seconds seconds(const std::string& key) const { return Seconds(get<double>(key)); }
  bool has(const std::string& key) const { return values.contains(key); }
  bool yes(const std::string& key) const {
    const int value = get<int>(key);
    if (value != 0 && value != 1) fail();
    return value == 1;
  }
  [[noreturn]] void fail() const { throw ConfigError("not a recorded " + side_ + " event: '" + text_ + "'"); }

 private:
  const std::string& text(const std::string& key) const {
    const auto found = values.find(key);
    if (found == values.end()) fail();
    return found->second;
  }
  template <class Number>
  Number read(const std::string& value) const {
    Number result{};
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size()) fail();
    return result;
  }

  std::string text_;
  std::string side_;
};

struct EventText {
  std::string operator()(const Push& e) const {
    return "push worker=" + std::to_string(e.worker) + " version=" + std::to_string(e.version) +
           " samples=" + std::to_string(e.samples) + " steps=" + std::to_string(e.local_steps) +
           " duration=" + number(e.duration.count()) + " loss=" + number(e.loss) + " done=" + number(e.done) +
           (e.rate == 1.0 ? "" : " rate=" + number(e.rate)) + " now=" + number(e.now.count());
  }
  std::string operator()(const Report& e) const {
    return "report worker=" + std::to_string(e.worker) + " version=" + std::to_string(e.version) +
           " steps=" + std::to_string(e.local_steps) + " duration=" + number(e.duration.count()) +
           " now=" + number(e.now.count());
  }
  std::string operator()(const Left& e) const {
    return "left worker=" + std::to_string(e.worker) + " now=" + number(e.now.count());
  }
  std::string operator()(const Joined& e) const {
    return "joined worker=" + std::to_string(e.worker) + " version=" + std::to_string(e.version) +
           " now=" + number(e.now.count());
  }
  std::string operator()(const StepBegin& e) const {
    return "step_begin steps=" + std::to_string(e.local_steps);
  }
  std::string operator()(const StepDone& e) const {
    return "step_done samples=" + std::to_string(e.samples) + " steps=" + std::to_string(e.local_steps) +
           " duration=" + number(e.duration.count()) +
           (e.coordinator_answer ? *e.coordinator_answer ? " answer=1" : " answer=0" : "") +
           " now=" + number(e.now.count());
  }
  std::string operator()(const Answer& e) const {
    return std::string("answer ready=") + (e.ready ? "1" : "0") + " now=" + number(e.now.count());
  }
  std::string operator()(const LocalSteps& e) const { return "local_steps steps=" + std::to_string(e.steps); }
  std::string operator()(const Members& e) const {
    return "members round=" + std::to_string(e.round) + " workers=" + list(e.workers);
  }
};

struct DecisionText {
  std::string operator()(const Accept& d) const {
    return "accept " + std::to_string(d.worker) + " " + number(d.weight);
  }
  std::string operator()(const Discard& d) const { return "discard " + std::to_string(d.worker); }
  std::string operator()(const Apply& d) const { return "apply " + number(d.scale); }
  std::string operator()(const Reply& d) const {
    return "reply " + std::to_string(d.worker) + (d.batch == 0 ? "" : " batch=" + std::to_string(d.batch)) +
           (d.local_steps == 0 ? "" : " steps=" + std::to_string(d.local_steps));
  }
  std::string operator()(const AnswerReport& d) const {
    return "answer " + std::to_string(d.worker) + (d.ready ? " ready" : " continue");
  }
  std::string operator()(const Continue&) const { return "continue"; }
  std::string operator()(const Ask&) const { return "ask"; }
  std::string operator()(const Exchange& d) const {
    return std::string("exchange ") + payload_names.at(static_cast<std::size_t>(d.payload)) +
           (d.members.empty() ? "" : " members=" + list(d.members)) +
           (d.weight ? " weight=" + number(*d.weight) : "");
  }
};

}  // namespace

std::string to_text(const Membership& membership) {
  constexpr std::array names = {"departures and arrivals", "departures only", "neither"};
  return names.at(static_cast<std::size_t>(membership.bears)) + (": " + membership.how);
}

std::string to_text(const ServerEvent& event) { return std::visit(EventText{}, event); }

ServerEvent parse_server_event(const std::string& text) {
  const Fields fields(text, "server");
  if (fields.name == "push")
    return Push{fields.seconds("now"),
                fields.get<int>("worker"),
                fields.get<int>("version"),
                fields.get<int>("samples"),
                fields.get<int>("steps"),
                fields.seconds("duration"),
                fields.get<double>("loss"),
                fields.get<double>("done"),
                fields.has("rate") ? fields.get<double>("rate") : 1.0};
  if (fields.name == "report")
    return Report{fields.seconds("now"), fields.get<int>("worker"), fields.get<int>("version"),
                  fields.get<int>("steps"), fields.seconds("duration")};
  if (fields.name == "left") return Left{fields.seconds("now"), fields.get<int>("worker")};
  if (fields.name == "joined")
    return Joined{fields.seconds("now"), fields.get<int>("worker"), fields.get<int>("version")};
  fields.fail();
}

std::string to_text(const ServerDecisions& decisions) {
  std::string text;
  for (const auto& decision : decisions)
    text += (text.empty() ? "" : "; ") + std::visit(DecisionText{}, decision);
  return text;
}

std::string to_text(const WorkerEvent& event) { return std::visit(EventText{}, event); }

WorkerEvent parse_worker_event(const std::string& text) {
  const Fields fields(text, "worker");
  if (fields.name == "step_begin") return StepBegin{fields.get<int>("steps")};
  if (fields.name == "step_done")
    return StepDone{
        .now = fields.seconds("now"),
        .duration = fields.seconds("duration"),
        .samples = fields.get<int>("samples"),
        .local_steps = fields.get<int>("steps"),
        .coordinator_answer = fields.has("answer") ? std::optional(fields.yes("answer")) : std::nullopt};
  if (fields.name == "answer") return Answer{fields.seconds("now"), fields.yes("ready")};
  if (fields.name == "local_steps") return LocalSteps{fields.get<int>("steps")};
  if (fields.name == "members") return Members{fields.get<int>("round"), fields.integers("workers")};
  fields.fail();
}

std::string to_text(const WorkerDecision& decision) { return std::visit(DecisionText{}, decision); }

std::string to_text(const StepBeginDecision& decision) {
  const DecisionText text;
  return (decision.exchange ? text(*decision.exchange) : text(Continue{})) +
         (decision.reports ? "; report" : "");
}

}  // namespace tandem::sync
