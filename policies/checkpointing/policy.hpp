// The interface of every checkpointing policy: when a job commits its state. A pure object that turns events
// into decisions. No clock, I/O or global state; time arrives in the events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/occupants.hpp"
#include "policies/vocabulary/policy_state.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::checkpointing {

// ---- Events ----

using Departure = DepartureKind;

/// The job computes after this round: at its begin (round 0), and each time it has loaded a commit.
struct Started {
  Seconds now;
  std::int64_t round;
  bool operator==(const Started&) const = default;
};
/// A round has ended.
struct RoundDone {
  Seconds now;
  std::int64_t round;
  int workers;       ///< that took part
  Seconds duration;  ///< computing and exchange, without commits
  bool operator==(const RoundDone&) const = default;
};
/// The machine in a slot will be taken away.
struct Warned {
  Seconds now;
  int slot;
  Seconds notice;  ///< from now until it is taken away
  bool operator==(const Warned&) const = default;
};
/// A machine is gone. Only for machines whose loss stops the job.
struct Departed {
  Seconds now;
  int slot;
  int incarnation;  ///< of the occupant
  Departure how;
  bool operator==(const Departed&) const = default;
};
/// A machine computes in a slot from now on. One for each machine at the begin of a job, before Started.
struct Ready {
  Seconds now;
  int slot;
  int incarnation;   ///< of the occupant
  Seconds age = {};  ///< since it was started up
  bool operator==(const Ready&) const = default;
};
/// A commit that survives the departure of machines is complete.
struct Committed {
  Seconds now;
  std::int64_t round;  ///< its state is that after this round
  Seconds duration;    ///< for which it blocked the job
  Seconds took = {};   ///< from the end of that round; 0: as long as it blocked the job
  bool operator==(const Committed&) const = default;
};
/// A commit was given up or is incomplete.
struct CommitFailed {
  Seconds now;
  bool operator==(const CommitFailed&) const = default;
};
using Event = std::variant<Started, RoundDone, Warned, Departed, Ready, Committed, CommitFailed>;

// ---- Decisions ----

/// Commit when the current round ends; immediately if there is none. Also if no commit is planned.
struct CommitNow {
  bool operator==(const CommitNow&) const = default;
};
/// The next commit is at the end of that round, counted from this decision on. Replaces the last
/// NextCommitIn; every commit removes it.
struct NextCommitInRounds {
  std::int64_t rounds;  ///< 1: the current round
  bool operator==(const NextCommitInRounds&) const = default;
};
/// The next commit is at the end of the first round after this many seconds of work, counted from this
/// decision on. Otherwise as NextCommitInRounds.
struct NextCommitInSeconds {
  Seconds work;
  bool operator==(const NextCommitInSeconds&) const = default;
};
using Decision = std::variant<CommitNow, NextCommitInRounds, NextCommitInSeconds>;
using Decisions = std::vector<Decision>;

// ---- Policies ----

/// One object per job. A job that starts again has a new object, which is restored and then gets the events
/// that it missed. Deterministic. A policy plans a commit with each Started, Committed and CommitFailed;
/// without a decision then, no commit is planned.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void on_started(const Started& event, Decisions& decisions) = 0;
  virtual void on_round_done(const RoundDone& event, Decisions& decisions) = 0;
  virtual void on_warned(const Warned& event, Decisions& decisions) = 0;
  virtual void on_departed(const Departed& event, Decisions& decisions) = 0;
  virtual void on_ready(const Ready& event, Decisions& decisions) = 0;
  virtual void on_committed(const Committed& event, Decisions& decisions) = 0;
  virtual void on_commit_failed(const CommitFailed& event, Decisions& decisions) = 0;
  /// Shows every value that events change; see serialised() and restore().
  virtual void serialise(PolicyState& state) = 0;
};

/// The integral of a machine's failure rate from its start until an age in seconds: -log of the probability
/// that it lives longer. Never decreases; infinite from the age that no machine reaches.
using CumulativeHazard = std::function<double(double age_s)>;

struct Setting {
  Options options = {};
  /// The lifetimes of machines, for `hazard`: by slot; a single one is for all slots. Empty: the policy's
  /// options describe them.
  std::vector<CumulativeHazard> hazards = {};
  double time_scale = 1.0;  ///< seconds of machines in a second of the job
};

/// Errors: OptionError.
using Factory = std::unique_ptr<Policy> (*)(const Setting&);
const Catalog<Factory>& catalog();

/// The rounds from one commit to the next if the policy only counts rounds, so that all commits are known in
/// advance. None: they depend on time or on warnings. Pre: the options are those of the policy, resolved.
/// Errors: OptionError.
std::optional<std::int64_t> rounds_between_commits(const std::string& policy, const Options& options);

// ---- Logs ----

/// One line each, e.g. "round_done round=7 workers=4 duration=0.25 now=3.5". Round-trips exactly.
std::string to_text(const Event& event);
/// Errors: ConfigError when the text is not an event.
Event parse_event(const std::string& text);
/// "commit_now; next_commit_in rounds=3; next_commit_in seconds=261.5"; empty if nothing was decided.
/// Round-trips exactly.
std::string to_text(const Decisions& decisions);
/// Errors: ConfigError when the text is not a list of decisions.
Decisions parse_decisions(const std::string& text);

}  // namespace tandem::checkpointing
