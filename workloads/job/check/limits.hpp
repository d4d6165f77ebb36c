// Settings that do not work, as data. Each row says which key is refused, why, and which value it would
// need. Checks, tests, `tandem list limit` and the pages read the same rows, which are in
// limits_of_training.cpp, limits_of_data.cpp, limits_of_machines.cpp and limits_that_warn.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/check/experiment_check.hpp"

namespace tandem {

/// An experiment and the entries that its names mean. Of an experiment whose hosts are known, `placement`
/// has them.
struct Combination {
  const Experiment& experiment;
  const ResolvedExperiment& chosen;

  bool is_real() const { return experiment.workload.math == Math::real; }
  bool is_over(sync::Route route) const { return experiment.sync.over == route; }
  /// Every worker sums with all others, not with some of them or with changing groups.
  bool exchanges_with_all() const;
  bool has_cache_nodes() const { return experiment.data.source == DataSource::storage; }
  /// The cache policy knows the list of each epoch, which begins for all workers of a cache node at the same
  /// time.
  bool plans_epochs() const;
  bool has_commits() const { return !experiment.checkpoint.policy.empty(); }
  bool may_depart() const { return experiment.transience.may_depart(); }
  bool launches_again() const { return tandem::launches_again(experiment.continuation()); }
  bool continues(Continuation how) const { return experiment.continuation() == how; }
};

/// A reason to refuse an experiment, and the keys at which it is found.
struct Limit {
  enum class Kind {
    unsupported,  ///< two features do not work together
    unused,       ///< a key or option has no effect in this job
    value         ///< a value contradicts another one, or needs one that is not given
  };
  struct Case {
    std::string key;  ///< "sync.overlap"
    /// "none or backward". Here and in `because`, names in braces are replaced by values of the experiment:
    /// "workers of {algorithm} exchange whole models". Those are `algorithm`, `over`, `routes`,
    /// `compression`, `cache`, `sampler`, `split`, `model`, `lifetime`, `policy` (of commits), `recovery`,
    /// `place` (of commits), `needs` (of the cache policy), `peers`, `parameters`, `workers`, `rounds`
    /// (stop.rounds), `cosine`, and the lists `algorithms_over`, `algorithms_by_key`,
    /// `algorithms_in_lockstep` and `samplers`.
    std::string expected;
    /// Settings with which it is met, over an experiment with four workers and a server: "sync.rings=2 ...".
    std::string example;
    std::function<bool(const Combination&)> is_met;
  };

  Kind kind;
  std::string because;  ///< empty: the expected value is reason enough
  std::vector<Case> cases;
};

/// The meaning of a kind, as the heading of its limits.
std::string describe(Limit::Kind kind);

/// A part of the limits, and when they are checked.
struct LimitGroup {
  std::string title;
  const std::vector<Limit>& (*limits)();
};

/// Limits of every experiment, in this order: the first that is met counts.
const std::vector<Limit>& limits_of_training();
const std::vector<Limit>& limits_of_data();
const std::vector<Limit>& limits_of_machines();
/// Limits of an experiment whose hosts are known.
const std::vector<Limit>& limits_of_placement();
/// Limits of one of several jobs in one experiment, and of jobs that share their caches.
const std::vector<Limit>& limits_of_company();
const std::vector<Limit>& limits_of_shared_caches();

const std::vector<LimitGroup>& limit_groups();

/// Rows of the same form that refuse nothing: an experiment that meets them works, but its author probably
/// meant something else. All that are met are warnings of the job.
const LimitGroup& warning_group();

/// A server of the algorithm can decide about each bucket on its own.
bool works_by_key(const sync::Factory& algorithm);

/// Errors: ConfigError naming place, key, expected and found, for the first case that is met.
void check_limits(const std::vector<Limit>& limits, const Combination& all, const Locate& locate);
/// "lab.yaml:7: sync.overlap: expected none or backward, because ..., found 'both'" for each of the cases
/// that is met. `locate`: empty where places are not known.
std::vector<std::string> met_warnings(const std::vector<Limit>& warnings, const Combination& all,
                                      const Locate& locate = {});
/// "none or backward, because ...", as it is listed: names in braces become "(the algorithm)" or similar.
std::string describe(const Limit& limit, const Limit::Case& at);

}  // namespace tandem
