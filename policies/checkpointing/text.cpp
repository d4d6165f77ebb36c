// Events and decisions as single lines for decisions.csv and scripts. Both read back exactly.
#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/line_codec.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::checkpointing {
namespace {

const auto& event_lines() {
  static const auto codec = line_codec<Event>(
      "checkpointing event",  //
      line<Started>("started", field("round", &Started::round), field("now", &Started::now)),
      line<RoundDone>("round_done", field("round", &RoundDone::round), field("workers", &RoundDone::workers),
                      field("duration", &RoundDone::duration), field("now", &RoundDone::now)),
      line<Warned>("warned", field("slot", &Warned::slot), field("notice", &Warned::notice),
                   field("now", &Warned::now)),
      line<Departed>("departed", field("slot", &Departed::slot), field("incarnation", &Departed::incarnation),
                     field("how", &Departed::how), field("now", &Departed::now)),
      line<Ready>("ready", field("slot", &Ready::slot), field("incarnation", &Ready::incarnation),
                  field("age", &Ready::age, Seconds()), field("now", &Ready::now)),
      line<Committed>("committed", field("round", &Committed::round), field("duration", &Committed::duration),
                      field("took", &Committed::took, Seconds()), field("now", &Committed::now)),
      line<CommitFailed>("commit_failed", field("now", &CommitFailed::now)));
  return codec;
}

const auto& decision_lines() {
  static const auto codec = line_codec<Decision>(
      "checkpointing decision", line<CommitNow>("commit_now"),
      line<NextCommitInRounds>("next_commit_in", field("rounds", &NextCommitInRounds::rounds)),
      line<NextCommitInSeconds>("next_commit_in", field("seconds", &NextCommitInSeconds::work)));
  return codec;
}

}  // namespace

std::string to_text(const Event& event) { return event_lines().text(event); }

Event parse_event(const std::string& text) { return event_lines().read(text); }

std::string to_text(const Decisions& decisions) {
  return joined_lines(decisions, [](const Decision& one) { return decision_lines().text(one); });
}

Decisions parse_decisions(const std::string& text) {
  Decisions decisions;
  for (const std::string& part : split(text, ';')) decisions.push_back(decision_lines().read(part));
  return decisions;
}

}  // namespace tandem::checkpointing
