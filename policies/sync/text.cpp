// Events and decisions as single lines for decisions.csv. Events read back exactly, so that they can be
// replayed.
#include <array>
#include <optional>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/line_codec.hpp"

namespace tandem::sync {
namespace {

constexpr std::array payload_names = {"gradient", "change", "model"};

const auto& server_events() {
  static const auto codec = line_codec<ServerEvent>(
      "server event",
      line<Push>("push", field("worker", &Push::worker), field("version", &Push::version),
                 field("samples", &Push::samples), field("steps", &Push::local_steps),
                 field("duration", &Push::duration), field("loss", &Push::loss), field("done", &Push::done),
                 field("rate", &Push::rate, 1.0), field("cancelled", &Push::cancelled, false),
                 field("now", &Push::now)),
      line<Report>("report", field("worker", &Report::worker), field("version", &Report::version),
                   field("steps", &Report::local_steps), field("duration", &Report::duration),
                   field("now", &Report::now)),
      line<Left>("left", field("worker", &Left::worker), field("drops", &Left::drops, false),
                 field("now", &Left::now)),
      line<Joined>("joined", field("worker", &Joined::worker), field("version", &Joined::version),
                   field("now", &Joined::now)));
  return codec;
}

const auto& worker_events() {
  static const auto codec = line_codec<WorkerEvent>(
      "worker event", line<StepBegin>("step_begin", field("steps", &StepBegin::local_steps)),
      line<StepDone>("step_done", field("samples", &StepDone::samples),
                     field("steps", &StepDone::local_steps), field("duration", &StepDone::duration),
                     field("answer", &StepDone::coordinator_answer, std::optional<bool>()),
                     field("now", &StepDone::now)),
      line<Answer>("answer", field("ready", &Answer::ready), field("now", &Answer::now)),
      line<LocalSteps>("local_steps", field("steps", &LocalSteps::steps)),
      line<Members>("members", field("round", &Members::round), field("workers", &Members::workers)));
  return codec;
}

struct DecisionText {
  std::string operator()(const Accept& d) const {
    return "accept " + std::to_string(d.worker) + " " + number_text(d.weight);
  }
  std::string operator()(const Discard& d) const { return "discard " + std::to_string(d.worker); }
  std::string operator()(const Apply& d) const { return "apply " + number_text(d.scale); }
  std::string operator()(const Reply& d) const {
    return "reply " + std::to_string(d.worker) + (d.batch == 0 ? "" : " batch=" + std::to_string(d.batch)) +
           (d.local_steps == 0 ? "" : " steps=" + std::to_string(d.local_steps)) +
           (d.keeps_model ? " cached" : "");
  }
  std::string operator()(const AnswerReport& d) const {
    return "answer " + std::to_string(d.worker) + (d.ready ? " ready" : " continue");
  }
  std::string operator()(const Cancel& d) const { return "cancel " + std::to_string(d.version); }
  std::string operator()(const Continue&) const { return "continue"; }
  std::string operator()(const Ask&) const { return "ask"; }
  std::string operator()(const Exchange& d) const {
    return std::string("exchange ") + payload_names.at(static_cast<std::size_t>(d.payload)) +
           (d.members.empty() ? "" : " members=" + LineValue::text(d.members)) +
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

std::string to_text(const ServerEvent& event) { return server_events().text(event); }

ServerEvent parse_server_event(const std::string& text) { return server_events().read(text); }

std::string to_text(const ServerDecisions& decisions) {
  return joined_lines(decisions, [](const ServerDecision& one) { return std::visit(DecisionText{}, one); });
}

std::string to_text(const WorkerEvent& event) { return worker_events().text(event); }

WorkerEvent parse_worker_event(const std::string& text) { return worker_events().read(text); }

std::string to_text(const WorkerDecision& decision) { return std::visit(DecisionText{}, decision); }

std::string to_text(const StepBeginDecision& decision) {
  const DecisionText text;
  return (decision.exchange ? text(*decision.exchange) : text(Continue{})) +
         (decision.reports ? "; report" : "") + (decision.reports && decision.waits ? " and wait" : "") +
         (decision.passes ? "; pass" : "");
}

}  // namespace tandem::sync
