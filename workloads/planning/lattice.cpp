#include "workloads/planning/lattice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/checkpointing/interval.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/check/memory_estimate.hpp"
#include "workloads/priced/job_life.hpp"
#include "workloads/priced/prediction.hpp"

namespace tandem::planning {
namespace {

/// Of one kind; routes between more hosts are not all known.
constexpr int most_hosts = 190;

/// Each number of a few machines, then steps of about an eighth.
std::vector<int> counts_up_to(int most) {
  std::vector<int> counts;
  for (int count = 1; count <= most;) {
    counts.push_back(count);
    count += std::max(1, static_cast<int>(std::bit_floor(static_cast<unsigned>(count))) / 4);
  }
  return counts;
}

money::Billing billing_of(const platforms::Offer& offer) {
  return {.per_hour = offer.per_hour,
          .step = offer.billing_step,
          .minimum = offer.billing_minimum,
          .free_if_revoked_within = offer.free_if_revoked_within};
}

Money times(Money price, int count) { return Money(price.micro() * count); }

double number_of(const OptionValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

/// By it, the machines of the offer are the same for the job.
auto kind_for_job(const platforms::Offer& offer, BytesPerSecond network) {
  return std::tuple(offer.device, offer.count, offer.is_spot, network.count());
}

/// The offer gives nothing that the other one does not, and costs as much or more. Pricing both would cost
/// little, but equal machines at many prices would fill the number of those that are lived through.
bool is_dominated(const platforms::Offer& offer, const platforms::Offer& other) {
  const auto seconds = [](const std::optional<Seconds>& time, double absent) {
    return time ? time->count() : absent;
  };
  const double never = std::numeric_limits<double>::infinity();
  return other.per_hour <= offer.per_hour && other.billing_step <= offer.billing_step &&
         other.billing_minimum <= offer.billing_minimum &&
         other.free_if_revoked_within >= offer.free_if_revoked_within &&
         seconds(other.notice, 0) >= seconds(offer.notice, 0) &&
         seconds(other.limit, never) >= seconds(offer.limit, never) &&
         seconds(other.startup, 0) <= seconds(offer.startup, 0);
}

/// Machines of the model live as long as those of the other one, for sure. Limits are those of the offers.
bool live_as_long(const LifetimeModel& model, const LifetimeModel& other) {
  const auto without_limit = [](LifetimeModel of) {
    of.options.erase("limit");
    return of;
  };
  return model.name == "never" || without_limit(model) == without_limit(other);
}

/// Of a machine, on the clock of the job. None: the model has no distribution of single lives.
std::optional<Seconds> mean_life(const LifetimeModel& model, double time_scale) {
  try {
    const double mean_s = lifetimes::make_lifetime(model.name, model.options)->mean() / time_scale;
    return std::isfinite(mean_s) && mean_s > 0.0 ? std::optional(Seconds(mean_s)) : std::nullopt;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

/// The file of a kind has the regions of one of its offers, and so maybe none of the groups of another one.
/// The lives of that one are checked apart (life_of).
void forget_groups(Experiment& experiment) { experiment.transience.options.erase(lifetimes::by_host_option); }

const platforms::Host& first_worker(const LoadedJob& loaded) {
  return loaded.platform.host(loaded.experiment.placement.workers.front());
}

void check_way(const Way& way) {
  const Experiment& experiment = way.loaded.experiment;
  const std::string of = way.name.empty() ? "" : "variant " + way.name + ": ";
  if (!experiment.placement.spares.empty())
    throw ConfigError("plan: " + of + "expected no placement.spares: a plan chooses the machines");
  if (experiment.stop.rounds == 0 && experiment.stop.epochs == 0.0)
    throw ConfigError("plan: " + of + "expected stop.rounds or stop.epochs: how much is trained");
}

/// In a round of the job on its own machines. Where steps vary or rounds drop gradients, as predicted.
/// Errors: ConfigError without a closed form.
double samples_of_round(const Job& job, PlatformReader& platforms) {
  const ExchangePlan& plan = job.exchange();
  const sync::Factory& algorithm = plan.algorithm().make;
  const bool drops = algorithm.quorum != nullptr && !algorithm.is_free_running;
  if (!drops && algorithm.steps_per_round(plan.sync_setting().options) > 0)
    return static_cast<double>(job.data().batch()) *
           std::min(static_cast<double>(job.roster().first_workers().size()),
                    static_cast<double>(plan.workers_of_round())) *
           plan.steps_per_round();
  return priced::predict(job,
                         platforms.network(job.spec().experiment.platform, priced::hosts_of_prediction(job),
                                           priced::hubs_of_prediction(job)))
      .samples_per_round();
}

/// Of the whole job, whatever the number of workers, also those whose gradients are dropped.
std::int64_t samples_of(const Job& job, PlatformReader& platforms) {
  const Experiment::Stop& stop = job.spec().experiment.stop;
  double samples = std::numeric_limits<double>::infinity();
  if (stop.rounds > 0) samples = static_cast<double>(stop.rounds) * samples_of_round(job, platforms);
  if (stop.epochs > 0.0)
    samples = std::min(samples, stop.epochs * static_cast<double>(job.data().info().train_samples));
  return std::llround(samples);
}

}  // namespace

Lattice::Lattice(std::vector<Way> ways, Limits limits, PlatformReader& platforms, std::string folder)
    : ways_(std::move(ways)), limits_(std::move(limits)), platforms_(platforms), folder_(std::move(folder)) {
  std::vector<const LoadedJob*> all;
  for (Way& way : ways_) {
    check_way(way);
    auto& workload = way.loaded.experiment.workload;
    if (workload.has_measured_times() && workload.measured_on.empty())
      workload.measured_on = first_worker(way.loaded).device.name;
    const Job job = make_job(way.loaded, "", network_of_workers(way.loaded.experiment, platforms_));
    if (all.empty()) samples_ = samples_of(job, platforms_);
    commits_.push_back(job.checkpoints().commits.is_enabled() ? priced::commit_times(job).write
                                                              : Seconds(0.0));
    all.push_back(&way.loaded);
  }
  kept_ = kept_machines(all, platforms_);
}

BytesPerSecond Lattice::network_of(const platforms::Offer& offer) const {
  constexpr double bytes_per_gbit = 1e9 / 8;
  if (offer.network_gbps) return BytesPerSecond(*offer.network_gbps * bytes_per_gbit);
  if (kept_.worker.rate.count() > 0) return kept_.worker.rate;
  return BytesPerSecond(10 * bytes_per_gbit);
}

int Lattice::most_machines(const platforms::Offer& offer) const {
  return std::min(limits_.most_machines, most_hosts / offer.count);
}

RentedMachines Lattice::rented(const Configuration& configuration) const {
  return {configuration.offer, configuration.machines, network_of(*configuration.offer)};
}

/// The platform of as many machines as are allowed, of which a job uses the first ones.
Lattice::PricedKind& Lattice::kind_of(const platforms::Offer& offer) {
  const Kind kind{offer.device, offer.count, network_of(offer).count()};
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) return known->second;
  const RentedMachines all{&offer, most_machines(offer), network_of(offer)};
  PricedKind made{
      .file = fmt::format("{}/{}.xml", folder_, kinds_.size()), .hosts = all.hosts(), .network = {}};
  write_whole_file(made.file, rented_platform(all, kept_));
  std::vector<std::string> hosts = made.hosts;
  for (const auto& kept : kept_.hosts) hosts.push_back(kept.host.name);
  made.network = platforms_.network(made.file, hosts);
  return kinds_.emplace(kind, std::move(made)).first->second;
}

Experiment Lattice::on_hosts(std::size_t way, const std::vector<std::string>& hosts,
                             const std::string& platform) const {
  Experiment experiment = ways_[way].loaded.experiment;
  experiment.platform = platform;
  experiment.variants.clear();
  // All workers stay all workers.
  const auto all = static_cast<int>(experiment.placement.workers.size()),
             now = static_cast<int>(hosts.size());
  int& least = experiment.recovery.least;
  least = least >= all ? now : std::min(least, now);
  experiment.placement.workers = hosts;
  experiment.placement.workers_by_default = false;
  experiment.placement.worker_count = 0;
  return experiment;
}

LoadedJob Lattice::loaded_on(std::size_t way, const PricedKind& kind, std::size_t workers) const {
  LoadedJob loaded = ways_[way].loaded;
  const auto last = kind.hosts.begin() + static_cast<std::ptrdiff_t>(workers);
  loaded.experiment = on_hosts(way, {kind.hosts.begin(), last}, kind.file);
  loaded.locate = {};
  return loaded;
}

/// Each kind and way once, for all offers of it.
priced::RoundTimes& Lattice::rounds_of(const platforms::Offer& offer, std::size_t way) {
  PricedKind& kind = kind_of(offer);
  auto& rounds = kind.ways[way].rounds;
  if (!rounds)
    rounds = std::make_unique<priced::RoundTimes>(on_hosts(way, kind.hosts, kind.file),
                                                  platforms_.platform(kind.file), kind.network, kind.network,
                                                  true);
  return *rounds;
}

/// Each kind, way and number of workers once. Errors: ConfigError if so many cannot do the job.
const priced::Prediction& Lattice::prediction_of(const platforms::Offer& offer, std::size_t way,
                                                 int workers) {
  priced::RoundTimes& rounds = rounds_of(offer, way);
  const auto count = static_cast<std::size_t>(workers);
  PricedKind& kind = kind_of(offer);
  PricedWay& known = kind.ways[way];
  const auto [reason, is_new] = known.why_not.try_emplace(workers);
  if (is_new) {
    try {
      if (!known.always_has_memory) known.always_has_memory = always_has_memory(kind, way, offer.count);
      if (!*known.always_has_memory) reason->second = lacking_memory(kind, way, workers);
      if (reason->second.empty()) return rounds.with_first(count);
    } catch (const ConfigError& error) {
      reason->second = error.what();
    }
  }
  if (!reason->second.empty()) throw ConfigError(reason->second);
  return rounds.with_first(count);
}

/// With more workers a host needs more memory, as that of a server, or less, as one whose worker holds its
/// share of the samples. So what fits for the fewest and for the most of them fits for all.
bool Lattice::always_has_memory(const PricedKind& kind, std::size_t way, int fewest) const {
  try {
    return lacking_memory(kind, way, fewest).empty() &&
           lacking_memory(kind, way, static_cast<int>(kind.hosts.size())).empty();
  } catch (const ConfigError&) {
    return false;
  }
}

std::string Lattice::lacking_memory(const PricedKind& kind, std::size_t way, int workers) const {
  LoadedJob alone = loaded_on(way, kind, static_cast<std::size_t>(workers));
  forget_groups(alone.experiment);
  alone.platform = platforms_.platform(kind.file);
  const auto lacking = hosts_without_memory(make_job(std::move(alone), "", kind.network));
  return lacking.empty() ? "" : to_text(lacking.front());
}

std::string Lattice::why_not(const platforms::Offer& offer) const {
  const auto& regions = limits_.regions;
  if (!regions.empty() && std::ranges::find(regions, offer.region) == regions.end())
    return "not in --regions";
  if (offer.obtainable && *offer.obtainable == 0.0)
    return "no machine of it can be had: its spot price is that on demand";
  if (!offer.is_spot) return "";
  if (std::ranges::none_of(ways_,
                           [](const Way& way) { return way.loaded.experiment.transience.may_depart(); }))
    return "the experiment does not say how long spot machines live (transience.lifetime)";
  try {
    lives_of(offer);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

LifetimeModel Lattice::life_of(const platforms::Offer& offer, std::size_t way) const {
  return LifetimesOfHosts(transience_of({.offer = &offer, .way = way}))
      .of(rented_host(offer, "machine-1", "", kept_));
}

std::vector<LifetimeModel> Lattice::lives_of(const platforms::Offer& offer) const {
  std::vector<LifetimeModel> lives;
  for (std::size_t way = 0; way < ways_.size(); ++way)
    if (offer.is_spot && ways_[way].loaded.experiment.transience.may_depart())
      lives.push_back(life_of(offer, way));
  return lives;
}

std::vector<const platforms::Offer*> Lattice::without_dominated(
    const std::vector<const platforms::Offer*>& offers) {
  std::vector<const platforms::Offer*> kept;
  std::vector<std::vector<LifetimeModel>> lives;
  for (const platforms::Offer* offer : offers) lives.push_back(lives_of(*offer));
  // Of the same kind.
  const auto is_worse = [&](std::size_t i, std::size_t j) {
    return is_dominated(*offers[i], *offers[j]) && std::ranges::equal(lives[j], lives[i], live_as_long);
  };
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const platforms::Offer* better = nullptr;
    for (std::size_t j = 0; j < offers.size() && better == nullptr; ++j) {
      if (i == j || kind_for_job(*offers[i], network_of(*offers[i])) !=
                        kind_for_job(*offers[j], network_of(*offers[j])))
        continue;
      // Of two that dominate each other, the first one stays.
      if (is_worse(i, j) && (j < i || !is_worse(j, i))) better = offers[j];
    }
    if (better == nullptr)
      kept.push_back(offers[i]);
    else
      excluded_.push_back({offers[i]->name(), "no better than " + better->name() + ", and no cheaper"});
  }
  return kept;
}

void Lattice::price(const std::vector<const platforms::Offer*>& offers, const std::function<void()>& step) {
  std::vector<const platforms::Offer*> possible;
  for (const platforms::Offer* offer : offers) {
    if (const std::string reason = why_not(*offer); !reason.empty())
      excluded_.push_back({offer->name(), reason});
    else
      possible.push_back(offer);
  }
  for (const platforms::Offer* offer : without_dominated(possible))
    for (std::size_t way = 0; way < ways_.size(); ++way) {
      if (offer->is_spot && !ways_[way].loaded.experiment.transience.may_depart()) continue;
      step();
      price_counts(*offer, way);
    }
  if (!configurations_.empty()) return;
  throw ConfigError("plan: no offer is left" +
                    (excluded_.empty() ? "" : ": " + excluded_.back().what + ": " + excluded_.back().why));
}

/// Every number is tried, whatever failed before: it may have the memory that fewer machines lack, or the
/// workers that an algorithm needs.
void Lattice::price_counts(const platforms::Offer& offer, std::size_t way) {
  struct Numbers {
    int first, last;
    std::string why_not;
  };
  std::vector<Numbers> all;
  for (const int machines : counts_up_to(most_machines(offer))) {
    std::string reason = add(offer, machines, way);
    if (all.empty() || all.back().why_not != reason) all.push_back({machines, machines, std::move(reason)});
    all.back().last = machines;
  }
  const std::string of_way = ways_[way].name.empty() ? "" : ", " + ways_[way].name;
  for (const auto& [first, last, reason] : all) {
    if (reason.empty()) continue;
    const std::string numbers = first == last ? std::to_string(first) : fmt::format("{} to {}", first, last);
    excluded_.push_back({fmt::format("{} x {}{}", numbers, offer.name(), of_way), reason});
  }
}

/// As of an experiment that is read. Errors: ConfigError, such as for an option that needs more workers.
void Lattice::check_placement(const Configuration& configuration) {
  const PricedKind& kind = kind_of(*configuration.offer);
  Experiment experiment = experiment_of(configuration, kind.file);
  forget_groups(experiment);
  const Locate& locate = ways_[configuration.way].loaded.locate;
  if (locate)
    resolve_placement(experiment, platforms_.platform(kind.file), locate);
  else
    resolve_placement(experiment, platforms_.platform(kind.file));
}

std::string Lattice::add(const platforms::Offer& offer, int machines, std::size_t way) {
  Configuration made{.offer = &offer, .machines = machines, .way = way};
  try {
    const int workers = machines * offer.count;
    made.samples = limits_.targets.empty() ? samples_ : limits_.targets[way].with(workers);
    check_placement(made);
    const priced::Prediction& found = prediction_of(offer, way, workers);
    made.round = found.round;
    made.fastest = found.fastest;
    made.slowest = found.slowest;
    made.certainty = found.certainty;
    made.origin = found.origin;
    made.rounds = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(made.samples) / found.samples_per_round() - 1e-9));
    made.binds = found.limits.front().name;
    made.unused_cores = found.unused_cores;
    if (found.limits.size() > 1) {
      made.next = found.limits[1].name;
      made.next_share = found.limits[0].rounds_per_s / found.limits[1].rounds_per_s;
    }
  } catch (const ConfigError& error) {
    return error.what();
  }
  expect(made);
  configurations_.push_back(std::move(made));
  return "";
}

void Lattice::add_rounds(std::size_t number, std::int64_t more) {
  Configuration& of = configurations_[number];
  of.rounds += more;
  of.more_rounds += more;
  expect(of);
}

/// The best interval by formula, and what follows without Monte Carlo.
void Lattice::expect(Configuration& configuration) const {
  const Experiment& experiment = ways_[configuration.way].loaded.experiment;
  const platforms::Offer& offer = *configuration.offer;
  const Seconds commit = commits_[configuration.way];
  const Seconds work = configuration.round * static_cast<double>(configuration.rounds);
  Seconds time = work;
  const bool starts_again = offer.is_spot && experiment.recovery.mode == RecoveryMode::restart;
  // Machines that stay need no commit.
  if (!offer.is_spot && experiment.recovery.mode == RecoveryMode::restart &&
      experiment.checkpoint.policy == "fixed")
    configuration.interval = configuration.rounds + 1;
  if (starts_again && experiment.checkpoint.policy == "fixed")
    if (const auto life = mean_life(life_of(offer, configuration.way), experiment.transience.time_scale)) {
      const Seconds between = *life * (1.0 / configuration.machines);
      Seconds interval = configuration.round * number_of(experiment.checkpoint.options.at("interval"));
      if (commit > Seconds(0.0)) {
        interval = checkpointing::optimal_interval(commit, between);
        configuration.interval = std::clamp<std::int64_t>(std::llround(interval / configuration.round), 1,
                                                          std::max<std::int64_t>(1, configuration.rounds));
      }
      const auto& transience = experiment.transience;
      const Seconds down =
          (transience.detect + transience.start) * (1.0 / transience.time_scale) + experiment.recovery.launch;
      const int segments = static_cast<int>(std::max(1.0, std::ceil(work / interval)));
      time = checkpointing::job_time(work, segments, {.commit = commit, .load = commit, .downtime = down},
                                     between);
    }
  // Young machines may take a job that is longer than their lives so far that no integer has its cost.
  configuration.ends = time < work * most_times;
  if (!configuration.ends) time = work * most_times;
  const Seconds paid = time * experiment.transience.time_scale;
  Money cost = times(money::price_of(billing_of(offer),
                                     money::billed_time(billing_of(offer), paid, money::StayEnd::released)),
                     configuration.machines);
  for (const auto& kept : kept_.hosts)
    if (const auto price = kept.host.properties.find("price_per_hour"); price != kept.host.properties.end())
      cost += money::price_of({.per_hour = parse_money(price->second).value()}, paid);
  configuration.expected = {time, cost};
}

/// Of the experiment, and what the offer says of its machines.
Experiment::Transience Lattice::transience_of(const Configuration& configuration) const {
  const platforms::Offer& offer = *configuration.offer;
  Experiment::Transience transience = ways_[configuration.way].loaded.experiment.transience;
  if (!offer.is_spot) {
    transience.lifetime = "never";
    transience.options.clear();
    return transience;
  }
  if (offer.limit && (transience.limit == Seconds(0.0) || *offer.limit < transience.limit))
    transience.limit = *offer.limit;
  if (offer.notice) transience.notice = *offer.notice;
  if (offer.startup) transience.start = *offer.startup;
  return transience;
}

Experiment Lattice::experiment_of(const Configuration& configuration, const std::string& platform) const {
  Experiment experiment = on_hosts(configuration.way, rented(configuration).hosts(), platform);
  experiment.stop = {.rounds = configuration.rounds};
  experiment.transience = transience_of(configuration);
  if (configuration.interval > 0) {
    experiment.checkpoint.options["interval"] = static_cast<double>(configuration.interval);
    experiment.checkpoint.options["unit"] = std::string("rounds");
  }
  return experiment;
}

std::string Lattice::platform_of(const Configuration& configuration) const {
  return rented_platform(rented(configuration), kept_);
}

std::unique_ptr<PlannedJob> Lattice::job_of(const Configuration& configuration) {
  PricedKind& kind = kind_of(*configuration.offer);
  const RentedMachines machines = rented(configuration);
  LoadedJob loaded = loaded_on(configuration.way, kind, static_cast<std::size_t>(machines.devices()));
  loaded.experiment = experiment_of(configuration, kind.file);
  // Prices are those of this offer, not of the one with which the kind was priced.
  loaded.platform = platforms_.platform(kind.file);
  for (platforms::Host& host : loaded.platform.hosts)
    if (std::ranges::find(kind.hosts, host.name) != kind.hosts.end()) {
      host.properties.erase("tandem:zone");
      for (const auto& [name, value] : price_properties(*configuration.offer)) host.properties[name] = value;
    }
  return std::make_unique<PlannedJob>(std::move(loaded), kind.network,
                                      rounds_of(*configuration.offer, configuration.way),
                                      configuration.rounds);
}

}  // namespace tandem::planning
