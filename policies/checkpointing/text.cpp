// Events and decisions as single lines for decisions.csv and scripts. Both read back exactly.
#include <sstream>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/recorded_line.hpp"

namespace tandem::checkpointing {
namespace {

std::string at(Seconds now) { return " now=" + number_text(now); }

struct EventText {
  std::string operator()(const Started& e) const {
    return "started round=" + std::to_string(e.round) + at(e.now);
  }
  std::string operator()(const RoundDone& e) const {
    return "round_done round=" + std::to_string(e.round) + " workers=" + std::to_string(e.workers) +
           " duration=" + number_text(e.duration) + at(e.now);
  }
  std::string operator()(const Warned& e) const {
    return "warned slot=" + std::to_string(e.slot) + " notice=" + number_text(e.notice) + at(e.now);
  }
  std::string operator()(const Departed& e) const {
    return "departed slot=" + std::to_string(e.slot) + " incarnation=" + std::to_string(e.incarnation) +
           " how=" + tandem::to_text(e.how) + at(e.now);
  }
  std::string operator()(const Ready& e) const {
    return "ready slot=" + std::to_string(e.slot) + " incarnation=" + std::to_string(e.incarnation) +
           (e.age == Seconds() ? "" : " age=" + number_text(e.age)) + at(e.now);
  }
  std::string operator()(const Committed& e) const {
    return "committed round=" + std::to_string(e.round) + " duration=" + number_text(e.duration) +
           (e.took == Seconds() ? "" : " took=" + number_text(e.took)) + at(e.now);
  }
  std::string operator()(const CommitFailed& e) const { return "commit_failed" + at(e.now); }
};

struct DecisionText {
  std::string operator()(const CommitNow&) const { return "commit_now"; }
  std::string operator()(const NextCommitInRounds& d) const {
    return "next_commit_in rounds=" + std::to_string(d.rounds);
  }
  std::string operator()(const NextCommitInSeconds& d) const {
    return "next_commit_in seconds=" + number_text(d.work);
  }
};

// Members of a braced list are evaluated in order, so each value is taken once.
Event event_of(RecordedLine& line) {
  const std::string& name = line.name();
  const auto round = [&] { return line.number<std::int64_t>("round"); };
  const auto integer = [&](const char* key) { return line.number<int>(key); };
  const auto now = line.seconds("now");
  if (name == "started") return Started{now, round()};
  if (name == "round_done") return RoundDone{now, round(), integer("workers"), line.seconds("duration")};
  if (name == "warned") return Warned{now, integer("slot"), line.seconds("notice")};
  if (name == "departed")
    return Departed{now, integer("slot"), integer("incarnation"), line.choice<Departure>("how")};
  if (name == "ready")
    return Ready{now, integer("slot"), integer("incarnation"),
                 line.has("age") ? line.seconds("age") : Seconds()};
  if (name == "committed")
    return Committed{now, round(), line.seconds("duration"),
                     line.has("took") ? line.seconds("took") : Seconds()};
  if (name == "commit_failed") return CommitFailed{now};
  line.fail();
}

Decision decision_of(RecordedLine& line) {
  if (line.name() == "commit_now") return CommitNow{};
  if (line.name() != "next_commit_in") line.fail();
  if (line.has("rounds")) return NextCommitInRounds{line.number<std::int64_t>("rounds")};
  return NextCommitInSeconds{line.seconds("seconds")};
}

}  // namespace

std::string to_text(const Event& event) { return std::visit(EventText{}, event); }

Event parse_event(const std::string& text) {
  RecordedLine line(text, "checkpointing event");
  const Event event = event_of(line);
  line.expect_all_taken();
  return event;
}

std::string to_text(const Decisions& decisions) {
  std::string text;
  for (const auto& decision : decisions)
    text += (text.empty() ? "" : "; ") + std::visit(DecisionText{}, decision);
  return text;
}

Decisions parse_decisions(const std::string& text) {
  Decisions decisions;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    RecordedLine line(part, "checkpointing decision");
    decisions.push_back(decision_of(line));
    line.expect_all_taken();
  }
  return decisions;
}

}  // namespace tandem::checkpointing
