#include "policies/sync/replay.hpp"

#include <string_view>
#include <utility>

#include "policies/vocabulary/line_codec.hpp"

namespace tandem::sync {

ServerDecisions decide(ServerPolicy& policy, const ServerEvent& event) {
  return decided<ServerDecisions>(policy, event, &ServerPolicy::on_push, &ServerPolicy::on_report,
                                  &ServerPolicy::on_left, &ServerPolicy::on_joined);
}

StepBeginDecision decide(WorkerPolicy& policy, const StepBegin& event) {
  if (auto empty = policy.passes(event)) return {.exchange = std::move(empty), .passes = true};
  auto exchange = policy.on_step_begin(event);
  return {.exchange = std::move(exchange), .reports = policy.reports(event), .waits = policy.waits(event)};
}

std::string decide_in_words(WorkerPolicy& policy, const WorkerEvent& event) {
  if (const auto* begin = std::get_if<StepBegin>(&event)) return to_text(decide(policy, *begin));
  if (const auto* done = std::get_if<StepDone>(&event)) return to_text(policy.on_step_done(*done));
  if (const auto* answer = std::get_if<Answer>(&event)) return to_text(policy.on_answer(*answer));
  if (const auto* local = std::get_if<LocalSteps>(&event)) policy.on_local_steps(local->steps);
  if (const auto* members = std::get_if<Members>(&event)) policy.on_members(*members);
  return "";
}

namespace {
constexpr std::string_view begins = "begin ";

const auto& begin_lines() {
  static const auto codec = line_codec<std::variant<Begun>>(
      "beginning of a policy",
      line<Begun>("begin", field("workers", &Begun::workers), field("index", &Begun::index)));
  return codec;
}
}  // namespace

std::string begin_event(const Begun& begun) { return begin_lines().text(begun); }

std::optional<Begun> begun_in(const std::string& event) {
  if (!event.starts_with(begins)) return std::nullopt;
  return std::get<Begun>(begin_lines().read(event));
}

}  // namespace tandem::sync
