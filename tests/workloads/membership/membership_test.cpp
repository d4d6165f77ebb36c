// Scripts of Membership, and that both of its users have the same members.
#include "workloads/membership/membership.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/line_codec.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/script.hpp"
#include "tests/support/seeds.hpp"
#include "tests/workloads/membership/given_machines.hpp"
#include "workloads/membership/restart_steward.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::GivenMachines;
using testing::Words;

Membership membership_of(const GivenMachines& given, bool may_ask_again) {
  return {{.workers = given.workers(),
           .slots = given.slots,
           .may_ask_again = may_ask_again,
           .has_deadline = given.give_up > Seconds(0)},
          testing::machines_of(given),
          given.in_place ? nullptr : testing::policy_of(given)};
}

/// Commands: `job workers=N [KEY=VALUE ...]` begins a job, `until T` takes what happens until then, `request
/// SLOT T`, `close`, `members`, `in_vain T`. An action is shown as `TIME WHAT SLOT`, with the view where
/// another one begins. In values, `_` is a space.
class Player {
 public:
  std::string answer(const Words& words) {
    const std::string& command = words.at(0);
    if (command == "job") return begin(words);
    if (command == "until") return take(Seconds(std::stod(words.at(1))));
    if (command == "members") return members();
    if (command == "in_vain")
      return membership_->waits_in_vain(Seconds(std::stod(words.at(1)))) ? "yes" : "no";
    if (command == "close")
      membership_->close();
    else if (command == "request")
      membership_->request(std::stoi(words.at(1)), Seconds(std::stod(words.at(2))));
    else
      return "no command " + command;
    return "";
  }

 private:
  std::string begin(const Words& words) {
    GivenMachines given;
    bool may_ask_again = true;
    for (std::size_t i = 1; i < words.size(); ++i) {
      auto [name, value] = testing::name_and_value(words[i]);
      std::ranges::replace(value, '_', ' ');
      if (name == "workers")
        given.slots += std::stoi(value) - 1;
      else if (name == "needed")
        given.slots += given.needed = std::stoi(value);
      else if (name == "spares")
        given.slots += given.spares = std::stoi(value);
      else if (name == "times")
        given.times = value;
      else if (name == "model")
        given.model = value;
      else if (name == "policy")
        given.policy = value;
      else if (name == "least")
        given.least = std::stoi(value);
      else if (name == "detect")
        given.detect = Seconds(std::stod(value));
      else if (name == "start")
        given.start = Seconds(std::stod(value));
      else if (name == "notice")
        given.notice = Seconds(std::stod(value));
      else if (name == "give_up")
        given.give_up = Seconds(std::stod(value));
      else if (name == "asks")
        may_ask_again = value != "once";
      else
        given.options[name] = testing::option_value(value);
    }
    membership_.emplace(membership_of(given, may_ask_again));
    view_ = 0;
    return text_of(membership_->begin(given.workers() - given.spares));
  }

  std::string take(Seconds until) {
    std::string text;
    while (membership_->next() && *membership_->next() <= until) {
      const std::string one = text_of(membership_->take());
      if (!one.empty()) text += (text.empty() ? "" : "; ") + one;
    }
    return text;
  }

  std::string members() const {
    std::string text = membership_->is_paused() ? "paused" : "";
    for (const int slot : membership_->members()) text += ' ' + std::to_string(slot);
    return text;
  }

  std::string text_of(const Membership::Step& step) {
    std::string text;
    for (const MemberAction& action : step.actions) {
      const bool is_machine = action.what == MemberAction::What::machine;
      text += (text.empty() ? "" : "; ") + number_text(action.at) + ' ' +
              (is_machine ? to_text(action.machine.what) : to_text(action.what));
      if (action.slot >= 0) text += ' ' + std::to_string(action.slot);
      if (action.view != view_) text += " view " + std::to_string(action.view);
      view_ = action.view;
    }
    return text;
  }

  std::optional<Membership> membership_;
  std::int64_t view_ = 0;
};

TEST(Membership, Script) {
  Player player;
  testing::run_script(testing::source_folder() + "/tests/workloads/membership/membership.script",
                      [&](const Words& words) { return player.answer(words); });
}

GivenMachines random_machines(std::uint64_t seed) {
  Rng rng = Rng::stream(seed, "machines");
  const auto whole = [&](int most) { return static_cast<int>(rng.uniform() * most); };
  GivenMachines given;
  given.seed = seed;
  given.model = "exponential";
  given.mean_s = 50.0 + 200.0 * rng.uniform();
  given.slots = 2 + whole(4);
  given.least = 1 + whole(given.slots);
  given.detect = Seconds(whole(3) * 2.5);
  given.start = Seconds(whole(4) * 7.0);
  given.notice = Seconds(whole(2) * 5.0);
  given.time_scale = 1.0 + whole(3);
  given.policy = std::vector<std::string>{"restart", "shrink", "replace", "liveput"}.at(
      static_cast<std::size_t>(whole(4)));
  return given;
}

/// A row of membership.csv that both write.
std::string row_of(Seconds at, int slot, const std::string& event, const std::string& cause,
                   std::int64_t view, std::int64_t incarnation) {
  return number_text(at) + ' ' + event + ' ' + std::to_string(slot) + '.' + std::to_string(incarnation) +
         ' ' + cause + " view " + std::to_string(view);
}

struct Account {
  std::vector<std::string> rows, decisions;
};

/// As a job that starts again.
Account by_generations(const GivenMachines& given, Seconds until) {
  RestartSteward steward(testing::machines_of(given), testing::policy_of(given),
                         std::vector<std::string>(static_cast<std::size_t>(given.slots), "host"));
  try {
    while (steward.end_of_generation() && steward.end_of_generation()->at <= until) steward.begin_next();
  } catch (const WorldError&) {
    // What it did until then counts.
  }
  Account account;
  for (const auto& row : steward.membership())
    account.rows.push_back(row_of(row.time, row.slot, row.event, row.cause, row.view, row.incarnation));
  for (const auto& decision : steward.decisions())
    account.decisions.push_back(decision.record.event + " -> " + decision.record.decisions);
  return account;
}

/// As a job that continues in place.
Account in_place(const GivenMachines& given, std::size_t rows) {
  Membership membership = membership_of(given, true);
  Account account;
  auto step = membership.begin(given.slots);
  while (true) {
    if (step.event)
      account.decisions.push_back(recovery::to_text(*step.event) + " -> " +
                                  recovery::to_text(step.decisions));
    for (const MemberAction& action : step.actions) {
      const bool is_machine = action.what == MemberAction::What::machine;
      if (action.slot < 0) continue;
      account.rows.push_back(row_of(
          action.at, action.slot, is_machine ? to_text(action.machine.what) : to_text(action.what),
          is_machine ? cause_text(action.machine) : "", action.view, membership.incarnation(action.slot)));
    }
    if (account.rows.size() >= rows || !membership.next()) return account;
    step = membership.take();
  }
}

TEST(Membership, InPlaceAndByGenerationsItIsTheSame) {
  for (const std::uint64_t seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    const GivenMachines given = random_machines(seed);
    const Account again = by_generations(given, Seconds(1500)),
                  continued = in_place(given, again.rows.size());
    EXPECT_EQ(again.rows, continued.rows) << given.policy;
    EXPECT_EQ(again.decisions, continued.decisions) << given.policy;
    EXPECT_GE(again.rows.size(), 5U) << "too little has happened";
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
