// Events and decisions as single lines for decisions.csv and scripts. Both read back exactly.
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {
namespace {

constexpr std::array<std::string_view, 3> departure_names = {"left", "revoked", "lost"};

std::string number(Seconds value) { return tandem::to_text(OptionValue(value.count())); }
std::string at(Seconds now) { return " now=" + number(now); }

struct EventText {
  std::string operator()(const Started& e) const {
    return "started round=" + std::to_string(e.round) + at(e.now);
  }
  std::string operator()(const RoundDone& e) const {
    return "round_done round=" + std::to_string(e.round) + " workers=" + std::to_string(e.workers) +
           " duration=" + number(e.duration) + at(e.now);
  }
  std::string operator()(const Warned& e) const {
    return "warned slot=" + std::to_string(e.slot) + " notice=" + number(e.notice) + at(e.now);
  }
  std::string operator()(const Departed& e) const {
    return "departed slot=" + std::to_string(e.slot) + " incarnation=" + std::to_string(e.incarnation) +
           " how=" + std::string(departure_names.at(static_cast<std::size_t>(e.how))) + at(e.now);
  }
  std::string operator()(const Ready& e) const {
    return "ready slot=" + std::to_string(e.slot) + " incarnation=" + std::to_string(e.incarnation) +
           (e.age == Seconds() ? "" : " age=" + number(e.age)) + at(e.now);
  }
  std::string operator()(const Committed& e) const {
    return "committed round=" + std::to_string(e.round) + " duration=" + number(e.duration) + at(e.now);
  }
  std::string operator()(const CommitFailed& e) const { return "commit_failed" + at(e.now); }
};

struct DecisionText {
  std::string operator()(const CommitNow&) const { return "commit_now"; }
  std::string operator()(const NextCommitInRounds& d) const {
    return "next_commit_in rounds=" + std::to_string(d.rounds);
  }
  std::string operator()(const NextCommitInSeconds& d) const {
    return "next_commit_in seconds=" + number(d.work);
  }
};

/// The parts of "name key=value ...". Every value must be read, so that nothing unknown is ignored.
class Fields {
 public:
  Fields(const std::string& text, std::string kind) : text_(text), kind_(std::move(kind)) {
    std::istringstream words(text);
    words >> name_;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos ||
          !values_.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
        fail();
    }
  }
  const std::string& name() const { return name_; }
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string take(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) fail();
    std::string value = found->second;
    values_.erase(found);
    return value;
  }
  template <class Number>
  Number take_number(const std::string& key) {
    const std::string value = take(key);
    const char* end = value.data() + value.size();
    Number result{};
    const auto read = std::from_chars(value.data(), end, result);
    if (read.ec != std::errc() || read.ptr != end) fail();
    return result;
  }
  Seconds seconds(const std::string& key) { return Seconds(take_number<double>(key)); }
  Departure departure() {
    const std::string how = take("how");
    for (std::size_t i = 0; i < departure_names.size(); ++i)
      if (departure_names[i] == how) return static_cast<Departure>(i);
    fail();
  }
  void expect_all_taken() const {
    if (!values_.empty()) fail();
  }
  [[noreturn]] void fail() const {
    throw ConfigError("not a recorded checkpointing " + kind_ + ": '" + text_ + "'");
  }

 private:
  std::string text_;
  std::string kind_;
  std::string name_;
  std::map<std::string, std::string> values_;
};

// Members of a braced list are evaluated in order, so each value is taken once.
Event event_of(Fields& fields) {
  const std::string& name = fields.name();
  const auto round = [&] { return fields.take_number<std::int64_t>("round"); };
  const auto integer = [&](const char* key) { return fields.take_number<int>(key); };
  const auto now = fields.seconds("now");
  if (name == "started") return Started{now, round()};
  if (name == "round_done") return RoundDone{now, round(), integer("workers"), fields.seconds("duration")};
  if (name == "warned") return Warned{now, integer("slot"), fields.seconds("notice")};
  if (name == "departed") return Departed{now, integer("slot"), integer("incarnation"), fields.departure()};
  if (name == "ready")
    return Ready{now, integer("slot"), integer("incarnation"),
                 fields.has("age") ? fields.seconds("age") : Seconds()};
  if (name == "committed") return Committed{now, round(), fields.seconds("duration")};
  if (name == "commit_failed") return CommitFailed{now};
  fields.fail();
}

Decision decision_of(Fields& fields) {
  if (fields.name() == "commit_now") return CommitNow{};
  if (fields.name() != "next_commit_in") fields.fail();
  if (fields.has("rounds")) return NextCommitInRounds{fields.take_number<std::int64_t>("rounds")};
  return NextCommitInSeconds{fields.seconds("seconds")};
}

}  // namespace

std::string to_text(const Event& event) { return std::visit(EventText{}, event); }

Event parse_event(const std::string& text) {
  Fields fields(text, "event");
  const Event event = event_of(fields);
  fields.expect_all_taken();
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
    Fields fields(part, "decision");
    decisions.push_back(decision_of(fields));
    fields.expect_all_taken();
  }
  return decisions;
}

}  // namespace tandem::checkpointing
