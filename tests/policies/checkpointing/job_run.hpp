// A job without any context that carries out the decisions of a checkpointing policy: rounds and commits of
// random duration, warnings, departures, replacements and restarts.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpointing/replay.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::testing {

using CheckpointOptions = std::map<std::string, OptionValue>;

inline std::unique_ptr<checkpointing::Policy> make_checkpointing(const std::string& name,
                                                                 const CheckpointOptions& options) {
  const auto& entry = checkpointing::catalog().find(name);
  return entry.make({.options = Options::resolve(name, entry.options, options)});
}

/// How a job goes. Chances are per round.
struct JobTraits {
  int machines = 4;
  double round_s = 1.0;   ///< mean; durations are between half of it and one and a half
  double commit_s = 2.0;  ///< likewise
  bool constant_commits = false;
  double loss = 0.0;            ///< of one machine without notice
  double warning = 0.0;         ///< of one machine
  double notice_s = 10.0;       ///< at most
  double commit_failure = 0.0;  ///< per commit
};

class JobRun {
 public:
  using Decide = std::function<checkpointing::Decisions(const checkpointing::Event&)>;

  JobRun(Decide decide, const JobTraits& traits, std::uint64_t seed)
      : decide_(std::move(decide)), traits_(traits), random_(Rng::stream(seed, "job")) {
    for (int slot = 0; slot < traits.machines; ++slot) {
      incarnations_.push_back(1);
      notify(checkpointing::Ready{now_, slot, 1, Seconds(100.0 * random_.uniform())});
    }
    notify(checkpointing::Started{now_, 0});
  }

  void run_rounds(int rounds) {
    for (int i = 0; i < rounds; ++i) run_round();
  }

  const std::vector<checkpointing::LogLine>& log() const { return log_; }
  int commits() const { return commits_; }
  int commits_now() const { return commits_now_; }
  Seconds work() const { return work_; }
  Seconds spent() const { return spent_; }
  Seconds last_round() const { return last_round_; }
  /// Called before each commit.
  std::function<void()> before_commit = nullptr;

 private:
  struct Warning {
    int slot;
    Seconds departs;
  };

  Seconds random_duration(double mean) { return Seconds(mean * (0.5 + random_.uniform())); }

  void run_round() {
    last_round_ = random_duration(traits_.round_s);
    const bool is_lost = random_.uniform() < traits_.loss;
    if (random_.uniform() < traits_.warning && !warning_) warn();
    now_ += last_round_;
    if (warning_ && warning_->departs <= now_)
      return restart(std::exchange(warning_, std::nullopt)->slot, checkpointing::Departure::revoked);
    if (is_lost) return restart(random_slot(), checkpointing::Departure::lost);
    work_ += last_round_;
    planned_work_ += last_round_;
    ++planned_rounds_;
    notify(checkpointing::RoundDone{now_, round_++, traits_.machines, last_round_});
    if (is_due()) commit();
  }

  int random_slot() { return static_cast<int>(random_.below(static_cast<std::uint64_t>(traits_.machines))); }

  void warn() {
    const Seconds notice(traits_.notice_s * random_.uniform());
    warning_ = Warning{random_slot(), now_ + notice};
    notify(checkpointing::Warned{now_, warning_->slot, notice});
  }

  void restart(int slot, checkpointing::Departure how) {
    if (warning_ && warning_->slot == slot) warning_.reset();
    int& incarnation = incarnations_.at(static_cast<std::size_t>(slot));
    notify(checkpointing::Departed{now_, slot, incarnation, how});
    now_ += random_duration(5.0);
    notify(checkpointing::Ready{now_, slot, ++incarnation});
    round_ = committed_round_;
    wants_now_ = false;
    notify(checkpointing::Started{now_, round_});
  }

  bool is_due() const {
    if (wants_now_) return true;
    if (!plan_) return false;
    if (const auto* rounds = std::get_if<checkpointing::NextCommitInRounds>(&*plan_))
      return planned_rounds_ >= rounds->rounds;
    return planned_work_ >= std::get<checkpointing::NextCommitInSeconds>(*plan_).work;
  }

  void commit() {
    if (before_commit) before_commit();
    plan_.reset();
    wants_now_ = false;
    const Seconds duration =
        traits_.constant_commits ? Seconds(traits_.commit_s) : random_duration(traits_.commit_s);
    now_ += duration;
    if (random_.uniform() < traits_.commit_failure) return notify(checkpointing::CommitFailed{now_});
    ++commits_;
    spent_ += duration;
    committed_round_ = round_;
    notify(checkpointing::Committed{now_, round_, duration});
  }

  void notify(const checkpointing::Event& event) {
    const auto decisions = decide_(event);
    log_.push_back({checkpointing::to_text(event), checkpointing::to_text(decisions)});
    for (const auto& decision : decisions) {
      if (std::holds_alternative<checkpointing::CommitNow>(decision)) {
        EXPECT_FALSE(wants_now_) << "decided twice";
        wants_now_ = true;
        ++commits_now_;
        continue;
      }
      if (const auto* rounds = std::get_if<checkpointing::NextCommitInRounds>(&decision))
        EXPECT_GE(rounds->rounds, 1);
      else
        EXPECT_GE(std::get<checkpointing::NextCommitInSeconds>(decision).work, Seconds());
      plan_ = decision;
      planned_rounds_ = 0;
      planned_work_ = Seconds();
    }
  }

  Decide decide_;
  JobTraits traits_;
  Rng random_;
  std::vector<checkpointing::LogLine> log_;
  std::vector<int> incarnations_;
  std::optional<Warning> warning_;
  std::optional<checkpointing::Decision> plan_;
  std::int64_t planned_rounds_ = 0;
  Seconds planned_work_;
  bool wants_now_ = false;
  std::int64_t round_ = 0;
  std::int64_t committed_round_ = 0;
  Seconds now_;
  Seconds last_round_;
  Seconds work_;
  Seconds spent_;
  int commits_ = 0;
  int commits_now_ = 0;
};

}  // namespace tandem::testing
