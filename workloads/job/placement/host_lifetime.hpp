// The lifetime models of machines by their host: from the host's own property, its group, or the experiment.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "policies/vocabulary/options.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// A lifetime model of the catalogue with options.
struct LifetimeModel {
  std::string name;
  std::map<std::string, OptionValue> options;
  auto operator<=>(const LifetimeModel&) const = default;
};

/// The property tandem:lifetime of the host in the platform file; empty: it has none.
std::string lifetime_text_of(const platforms::Host& host);

/// Whether the host's own lifetime lets its machines depart.
bool has_own_departures(const platforms::Host& host);

/// The models by properties of hosts (option by_host of the lifetime model); empty: all have the same.
std::string groups_of_hosts(const Experiment::Transience& transience);

/// Hosts with these properties ("region", or "tandem:region"), and the model of their machines.
struct LifetimeGroup {
  std::map<std::string, std::string> properties;
  LifetimeModel model;
};

/// Groups of a text such as "region=eu device=k80: weibull scale=2h; region=US%20East device=k80: never".
/// Names and values may be percent-encoded. Errors: ConfigError naming the group, what was expected and
/// found, also for a model or an option.
std::vector<LifetimeGroup> lifetime_groups_of(const std::string& text);

class LifetimesOfHosts {
 public:
  /// Errors: ConfigError for bad groups.
  explicit LifetimesOfHosts(const Experiment::Transience& transience);

  /// The model of a machine of a worker: the first that exists of the host's own, that of the host's group,
  /// and the experiment's. Errors: ConfigError for a bad text of the host, and for a host without a group if
  /// there are groups.
  LifetimeModel of(const platforms::Host& host) const;

  /// Machines of hosts without workers depart only if they have a lifetime of their own. Errors: as of().
  bool may_depart(const platforms::Host& host, bool has_worker) const;

  /// A machine of a worker on the host never departs: the model is never, or fixed without options. Errors:
  /// as of().
  bool stay(const platforms::Host& host) const;

 private:
  const LifetimeModel& of_group(const platforms::Host& host) const;

  LifetimeModel common_;
  double limit_s_;  ///< of all machines but those of hosts with a lifetime of their own; 0: none
  std::vector<LifetimeGroup> groups_;
};

}  // namespace tandem
