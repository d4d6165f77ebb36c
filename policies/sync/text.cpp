// Events and decisions as single lines for decisions.csv. Events read back exactly, so that they can be
// replayed.
#include <array>
#include <sstream>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/recorded_line.hpp"

namespace tandem::sync {
namespace {

constexpr std::array payload_names = {"gradient", "change", "model"};

std::string list(const std::vector<int>& members) {
  std::string text;
  for (const int member : members) text += (text.empty() ? "" : ",") + std::to_string(member);
  return text;
}

/// The parts of an event.
class Fields : public RecordedLine {
 public:
  Fields(const std::string& text, const std::string& side) : RecordedLine(text, side + " event") {}
  std::vector<int> integers(const std::string& key) {
    std::vector<int> all;
    std::istringstream items(take(key));
    for (std::string item; std::getline(items, item, ',');) all.push_back(parse<int>(item));
    return all;
  }
  bool yes(const std::string& key) {
    const int value = number<int>(key);
    if (value != 0 && value != 1) fail();
    return value == 1;
  }
};

struct EventText {
  std::string operator()(const Push& e) const {
    return "push worker=" + std::to_string(e.worker) + " version=" + std::to_string(e.version) +
           " samples=" + std::to_string(e.samples) + " steps=" + std::to_string(e.local_steps) +
           " duration=" + number_text(e.duration) + " loss=" + number_text(e.loss) +
           " done=" + number_text(e.done) + (e.rate == 1.0 ? "" : " rate=" + number_text(e.rate)) +
           " now=" + number_text(e.now);
  }
  std::string operator()(const Report& e) const {
    return "report worker=" + std::to_string(e.worker) + " version=" + std::to_string(e.version) +
           " steps=" + std::to_string(e.local_steps) + " duration=" + number_text(e.duration) +
           " now=" + number_text(e.now);
  }
  std::string operator()(const Left& e) const {
    return "left worker=" + std::to_string(e.worker) + (e.drops ? " drops=1" : "") +
           " now=" + number_text(e.now);
  }
  std::string operator()(const Joined& e) const {
    return "joined worker=" + std::to_string(e.worker) + " version=" + std::to_string(e.version) +
           " now=" + number_text(e.now);
  }
  std::string operator()(const StepBegin& e) const {
    return "step_begin steps=" + std::to_string(e.local_steps);
  }
  std::string operator()(const StepDone& e) const {
    return "step_done samples=" + std::to_string(e.samples) + " steps=" + std::to_string(e.local_steps) +
           " duration=" + number_text(e.duration) +
           (e.coordinator_answer ? *e.coordinator_answer ? " answer=1" : " answer=0" : "") +
           " now=" + number_text(e.now);
  }
  std::string operator()(const Answer& e) const {
    return std::string("answer ready=") + (e.ready ? "1" : "0") + " now=" + number_text(e.now);
  }
  std::string operator()(const LocalSteps& e) const { return "local_steps steps=" + std::to_string(e.steps); }
  std::string operator()(const Members& e) const {
    return "members round=" + std::to_string(e.round) + " workers=" + list(e.workers);
  }
};

struct DecisionText {
  std::string operator()(const Accept& d) const {
    return "accept " + std::to_string(d.worker) + " " + number_text(d.weight);
  }
  std::string operator()(const Discard& d) const { return "discard " + std::to_string(d.worker); }
  std::string operator()(const Apply& d) const { return "apply " + number_text(d.scale); }
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
           (d.weight ? " weight=" + number_text(*d.weight) : "");
  }
};

}  // namespace

std::string to_text(const Membership& membership) {
  constexpr std::array names = {"departures and arrivals", "departures only", "neither"};
  return names.at(static_cast<std::size_t>(membership.bears)) + (": " + membership.how) +
         (membership.rounds_are_updates ? "; over servers, recovery.on_loss says whether its push counts"
                                        : "");
}

std::string to_text(const ServerEvent& event) { return std::visit(EventText{}, event); }

ServerEvent parse_server_event(const std::string& text) {
  Fields fields(text, "server");
  if (fields.name() == "push")
    return Push{fields.seconds("now"),
                fields.number<int>("worker"),
                fields.number<int>("version"),
                fields.number<int>("samples"),
                fields.number<int>("steps"),
                fields.seconds("duration"),
                fields.number<double>("loss"),
                fields.number<double>("done"),
                fields.has("rate") ? fields.number<double>("rate") : 1.0};
  if (fields.name() == "report")
    return Report{fields.seconds("now"), fields.number<int>("worker"), fields.number<int>("version"),
                  fields.number<int>("steps"), fields.seconds("duration")};
  if (fields.name() == "left")
    return Left{fields.seconds("now"), fields.number<int>("worker"),
                fields.has("drops") && fields.yes("drops")};
  if (fields.name() == "joined")
    return Joined{fields.seconds("now"), fields.number<int>("worker"), fields.number<int>("version")};
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
  Fields fields(text, "worker");
  if (fields.name() == "step_begin") return StepBegin{fields.number<int>("steps")};
  if (fields.name() == "step_done")
    return StepDone{
        .now = fields.seconds("now"),
        .duration = fields.seconds("duration"),
        .samples = fields.number<int>("samples"),
        .local_steps = fields.number<int>("steps"),
        .coordinator_answer = fields.has("answer") ? std::optional(fields.yes("answer")) : std::nullopt};
  if (fields.name() == "answer") return Answer{fields.seconds("now"), fields.yes("ready")};
  if (fields.name() == "local_steps") return LocalSteps{fields.number<int>("steps")};
  if (fields.name() == "members") return Members{fields.number<int>("round"), fields.integers("workers")};
  fields.fail();
}

std::string to_text(const WorkerDecision& decision) { return std::visit(DecisionText{}, decision); }

std::string to_text(const StepBeginDecision& decision) {
  const DecisionText text;
  return (decision.exchange ? text(*decision.exchange) : text(Continue{})) +
         (decision.reports ? "; report" : "");
}

}  // namespace tandem::sync
