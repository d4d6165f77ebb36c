// Events and decisions as single lines for decisions.csv and scripts. Reading them back gives the same
// values.
#include <algorithm>
#include <string_view>

#include "policies/recovery/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/line_codec.hpp"

namespace tandem::recovery {
namespace {

const auto& event_lines() {
  static const auto codec = line_codec<Event>(
      "recovery event",
      line<Started>("started", field("workers", &Started::workers), field("now", &Started::now)),
      line<Warned>("warned", field("slot", &Warned::slot), field("notice", &Warned::notice),
                   field("now", &Warned::now)),
      line<Departed>("departed", field("slot", &Departed::slot), field("incarnation", &Departed::incarnation),
                     field("how", &Departed::how), field("now", &Departed::now)),
      line<Ready>("ready", field("slot", &Ready::slot), field("incarnation", &Ready::incarnation),
                  field("now", &Ready::now)),
      line<RequestFailed>("request_failed", field("slot", &RequestFailed::slot),
                          field("now", &RequestFailed::now)),
      line<Tick>("tick", field("now", &Tick::now)));
  return codec;
}

const auto& decision_lines() {
  static const auto codec = line_codec<Decision>(
      "recovery decision", line<Request>("request", field("slot", &Request::slot)),
      line<Admit>("admit", field("slot", &Admit::slot)),
      line<Release>("release", field("slot", &Release::slot)), line<Pause>("pause"), line<Resume>("resume"),
      line<Rollback>("rollback"), line<WakeAt>("wake_at", field("seconds", &WakeAt::at)),
      line<GiveUp>("give_up", field("why", &GiveUp::why)));
  return codec;
}

/// The reason may contain any character, so it extends to the end of the line.
constexpr std::string_view give_up_prefix = "give_up why=";

}  // namespace

std::string to_text(const Event& event) { return event_lines().text(event); }

Event parse_event(const std::string& text) { return event_lines().read(text); }

std::string to_text(const Decisions& decisions) {
  return joined_lines(decisions, [&](const Decision& one) {
    TANDEM_CHECK(&one == &decisions.back() || !std::holds_alternative<GiveUp>(one), decisions.size(),
                 "a decision after GiveUp");
    return decision_lines().text(one);
  });
}

Decisions parse_decisions(const std::string& text) {
  Decisions decisions;
  for (std::size_t begin = 0; begin < text.size();) {
    begin = std::min(text.find_first_not_of(' ', begin), text.size());
    if (text.compare(begin, give_up_prefix.size(), give_up_prefix) == 0) {
      decisions.emplace_back(GiveUp{text.substr(begin + give_up_prefix.size())});
      break;
    }
    const auto end = std::min(text.find(';', begin), text.size());
    decisions.push_back(decision_lines().read(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return decisions;
}

}  // namespace tandem::recovery
