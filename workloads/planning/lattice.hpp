// The configurations of a plan: offers x machines x ways to exchange, each priced in closed form.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/offers.hpp"
#include "policies/planning/accuracy.hpp"
#include "policies/planning/choice.hpp"
#include "workloads/job/check/job_assembly.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/planning/planned_job.hpp"
#include "workloads/planning/rented_machines.hpp"
#include "workloads/priced/round_times.hpp"

namespace tandem::planning {

/// One way to rent.
struct Configuration {
  const platforms::Offer* offer = nullptr;
  int machines = 1;
  std::size_t way = 0;
  std::int64_t samples = 0;
  std::int64_t rounds = 0;
  std::int64_t more_rounds = 0;  ///< of these, in the place of samples that departed workers do not train
  std::int64_t interval = 0;     ///< rounds between commits; 0: as the experiment says; above `rounds`: none
  Seconds round{};               ///< with all workers
  Seconds fastest{}, slowest{};  ///< between these two, by the closed form
  priced::Certainty certainty = priced::Certainty::exact;  ///< of its duration
  std::string origin{};                                    ///< why
  std::string binds{}, next{};                             ///< what limits a round
  std::string unused_cores{};                              ///< as Prediction::unused_cores
  double next_share = 0.0;  ///< of the next limit: how busy it is while the first one binds
  Outcome expected{};       ///< an estimate, to choose which ones are lived through
  bool ends = true;         ///< by the estimate, before lives are cut off (most_times)
};

/// An offer, or numbers of its machines, that are in no configuration.
struct Excluded {
  std::string what, why;
};

struct Way {
  std::string name;  ///< of the variant; empty: the experiment itself
  LoadedJob loaded;
};

class Lattice {
 public:
  struct Limits {
    int most_machines = 16;
    std::vector<std::string> regions;  ///< empty: all
    /// Of each way, how much is trained; empty: the samples of the experiment.
    std::vector<SamplesToTarget> targets = {};
  };
  /// The first way has the platform of all. `platforms` must outlive this, and `folder`, in which it writes
  /// platform files. Errors: ConfigError for an experiment that cannot be planned.
  Lattice(std::vector<Way> ways, Limits limits, PlatformReader& platforms, std::string folder);

  /// Prices the offers. `step`: called before each one with each way; what it throws ends the work. Errors:
  /// ConfigError where no way to exchange has a closed form.
  void price(
      const std::vector<const platforms::Offer*>& offers, const std::function<void()>& step = [] {});
  const std::vector<Configuration>& configurations() const { return configurations_; }
  /// Of a configuration whose lives train fewer samples than they should.
  void add_rounds(std::size_t number, std::int64_t more);
  const std::vector<Excluded>& excluded() const { return excluded_; }
  const std::vector<Way>& ways() const { return ways_; }
  /// Of the experiment, where no target says how much is trained.
  std::int64_t samples() const { return samples_; }
  const KeptMachines& kept() const { return kept_; }
  int most_machines(const platforms::Offer& offer) const;

  /// Errors: ConfigError.
  std::unique_ptr<PlannedJob> job_of(const Configuration& configuration);
  /// The experiment and the platform file of a configuration, with the given path of the latter.
  Experiment experiment_of(const Configuration& configuration, const std::string& platform) const;
  std::string platform_of(const Configuration& configuration) const;

 private:
  /// What decides how fast machines train.
  using Kind = std::tuple<std::string, int, double>;  ///< device, count, bytes per second
  struct PricedWay {
    std::unique_ptr<priced::RoundTimes> rounds{};
    std::optional<bool> always_has_memory{};  ///< all numbers of machines
    std::map<int, std::string> why_not{};     ///< by workers: why they cannot do the job; empty: they can
  };
  struct PricedKind {
    std::string file;
    std::vector<std::string> hosts;
    platforms::Network network;
    std::map<std::size_t, PricedWay> ways{};
  };
  BytesPerSecond network_of(const platforms::Offer& offer) const;
  RentedMachines rented(const Configuration& configuration) const;
  PricedKind& kind_of(const platforms::Offer& offer);
  priced::RoundTimes& rounds_of(const platforms::Offer& offer, std::size_t way);
  const priced::Prediction& prediction_of(const platforms::Offer& offer, std::size_t way, int workers);
  std::string lacking_memory(const PricedKind& kind, std::size_t way, int workers) const;
  bool always_has_memory(const PricedKind& kind, std::size_t way, int fewest) const;
  std::string why_not(const platforms::Offer& offer) const;
  /// Of one machine, in the job of the way. Errors: ConfigError if it is in no group of by_host.
  LifetimeModel life_of(const platforms::Offer& offer, std::size_t way) const;
  /// With each way with which machines may depart.
  std::vector<LifetimeModel> lives_of(const platforms::Offer& offer) const;
  std::vector<const platforms::Offer*> without_dominated(const std::vector<const platforms::Offer*>& offers);
  void price_counts(const platforms::Offer& offer, std::size_t way);
  void check_placement(const Configuration& configuration);
  /// Why it cannot be priced; empty: it is one of the configurations.
  std::string add(const platforms::Offer& offer, int machines, std::size_t way);
  void expect(Configuration& configuration) const;
  Experiment::Transience transience_of(const Configuration& configuration) const;
  Experiment on_hosts(std::size_t way, const std::vector<std::string>& hosts,
                      const std::string& platform) const;
  LoadedJob loaded_on(std::size_t way, const PricedKind& kind, std::size_t workers) const;

  std::vector<Way> ways_;
  Limits limits_;
  PlatformReader& platforms_;
  std::string folder_;
  KeptMachines kept_;
  std::int64_t samples_ = 0;      ///< of the whole job
  std::vector<Seconds> commits_;  ///< by way: duration of one
  std::map<Kind, PricedKind> kinds_;
  std::vector<Configuration> configurations_;
  std::vector<Excluded> excluded_;
};

}  // namespace tandem::planning
