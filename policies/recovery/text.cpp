// Events and decisions as single lines for decisions.csv and scripts. Both read back exactly.
#include <algorithm>
#include <string_view>

#include "policies/recovery/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/recorded_line.hpp"

namespace tandem::recovery {
namespace {

/// The reason may contain any character, so it extends to the end of the line.
constexpr std::string_view give_up_prefix = "give_up why=";

std::string in(int slot) { return " slot=" + std::to_string(slot); }
std::string at(Seconds now) { return " now=" + number_text(now); }

struct EventText {
  std::string operator()(const Started& e) const {
    return "started workers=" + std::to_string(e.workers) + at(e.now);
  }
  std::string operator()(const Warned& e) const {
    return "warned" + in(e.slot) + " notice=" + number_text(e.notice) + at(e.now);
  }
  std::string operator()(const Departed& e) const {
    return "departed" + in(e.slot) + " incarnation=" + std::to_string(e.incarnation) +
           " how=" + tandem::to_text(e.how) + at(e.now);
  }
  std::string operator()(const Ready& e) const {
    return "ready" + in(e.slot) + " incarnation=" + std::to_string(e.incarnation) + at(e.now);
  }
  std::string operator()(const RequestFailed& e) const { return "request_failed" + in(e.slot) + at(e.now); }
  std::string operator()(const Tick& e) const { return "tick" + at(e.now); }
};

struct DecisionText {
  std::string operator()(const Request& d) const { return "request" + in(d.slot); }
  std::string operator()(const Admit& d) const { return "admit" + in(d.slot); }
  std::string operator()(const Release& d) const { return "release" + in(d.slot); }
  std::string operator()(const Pause&) const { return "pause"; }
  std::string operator()(const Resume&) const { return "resume"; }
  std::string operator()(const Rollback&) const { return "rollback"; }
  std::string operator()(const WakeAt& d) const { return "wake_at seconds=" + number_text(d.at); }
  std::string operator()(const GiveUp& d) const { return std::string(give_up_prefix) + d.why; }
};

// Members of a braced list are evaluated in order, so each value is taken once.
Event event_of(RecordedLine& line) {
  const std::string& name = line.name();
  const auto integer = [&](const char* key) { return line.number<int>(key); };
  const auto now = line.seconds("now");
  if (name == "started") return Started{now, integer("workers")};
  if (name == "warned") return Warned{now, integer("slot"), line.seconds("notice")};
  if (name == "departed")
    return Departed{now, integer("slot"), integer("incarnation"), line.choice<How>("how")};
  if (name == "ready") return Ready{now, integer("slot"), integer("incarnation")};
  if (name == "request_failed") return RequestFailed{now, integer("slot")};
  if (name == "tick") return Tick{now};
  line.fail();
}

Decision decision_of(RecordedLine& line) {
  const std::string& name = line.name();
  if (name == "request") return Request{line.number<int>("slot")};
  if (name == "admit") return Admit{line.number<int>("slot")};
  if (name == "release") return Release{line.number<int>("slot")};
  if (name == "pause") return Pause{};
  if (name == "resume") return Resume{};
  if (name == "rollback") return Rollback{};
  if (name == "wake_at") return WakeAt{line.seconds("seconds")};
  line.fail();
}

}  // namespace

std::string to_text(const Event& event) { return std::visit(EventText{}, event); }

Event parse_event(const std::string& text) {
  RecordedLine line(text, "recovery event");
  const Event event = event_of(line);
  line.expect_all_taken();
  return event;
}

std::string to_text(const Decisions& decisions) {
  std::string text;
  for (const auto& decision : decisions) {
    TANDEM_CHECK(&decision == &decisions.back() || !std::holds_alternative<GiveUp>(decision), text,
                 "a decision after GiveUp");
    text += (text.empty() ? "" : "; ") + std::visit(DecisionText{}, decision);
  }
  return text;
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
    RecordedLine line(text.substr(begin, end - begin), "recovery decision");
    decisions.push_back(decision_of(line));
    line.expect_all_taken();
    begin = end + 1;
  }
  return decisions;
}

}  // namespace tandem::recovery
