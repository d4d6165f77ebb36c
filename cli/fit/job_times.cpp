#include "cli/fit/job_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "cli/shared/cache_options.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/priced/prediction.hpp"

namespace tandem::cli {
namespace {

// The places of numbers: of the network, and of a server.
constexpr std::size_t bandwidth_number = 0, latency_number = 1, window_number = 2;
constexpr std::size_t message_number = 0, byte_number = 1, tensor_number = 2;

/// `*` stands for any text.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
      if (matches(name.substr(skipped), pattern.substr(1))) return true;
    return false;
  }
  return !name.empty() && name.front() == pattern.front() && matches(name.substr(1), pattern.substr(1));
}

ServerCost cost_of(const std::vector<double>& numbers) {
  ServerCost cost{.message = Seconds(numbers[message_number]), .tensor = Seconds(numbers[tensor_number])};
  if (const double byte_s = numbers[byte_number]; byte_s > 0.0)
    cost.push_rate = cost.reply_rate = BytesPerSecond(1.0 / byte_s);
  return cost;
}

void state_cost(LoadedJob& loaded, const std::vector<double>& numbers) {
  const auto& servers = loaded.experiment.placement.servers;
  for (auto& host : loaded.platform.hosts) {
    if (std::ranges::find(servers, host.name) == servers.end()) continue;
    for (const auto& name : server_cost_names()) host.properties.erase(name);
    for (const auto& [name, value] : server_properties(cost_of(numbers))) host.properties[name] = value;
  }
}

/// A flow moves at most a window per round trip.
void limit_to_window(platforms::Network& network, double window) {
  for (auto& route : network.routes) {
    if (!route || route->latency <= Seconds(0.0)) continue;
    route->channels.push_back(static_cast<int>(network.channels.size()));
    network.channels.push_back(
        {"window", BytesPerSecond(window / (2.0 * route->latency.count())), Seconds(0.0), false});
  }
}

}  // namespace

JobTimes::JobTimes(std::vector<TimedRow> rows, Setting setting, PlatformCache& platforms)
    : rows_(std::move(rows)), setting_(std::move(setting)) {
  for (const TimedRow& row : rows_) {
    try {
      const platforms::Network of_workers = tandem::network_of_workers(row.loaded.experiment, platforms);
      const Job job = tandem::make_job(row.loaded, "", of_workers);
      places_.push_back({platforms.network(row.loaded.experiment.platform, priced::hosts_of_prediction(job),
                                           priced::hubs_of_prediction(job)),
                         of_workers,
                         {},
                         row.loaded.experiment.workload.has_measured_times()});
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", row.place, error.what()));
    }
  }
  if (setting_.subject == FitSubject::network)
    add_network_numbers();
  else
    add_server_numbers();
  add_groups(platforms);
}

/// Messages of a host to itself use no link.
void JobTimes::choose_links() {
  const auto patterns = parts_of(setting_.links);
  for (const Place& place : places_) {
    const std::size_t hosts = place.network.hosts.size();
    for (std::size_t pair = 0; pair < place.network.routes.size(); ++pair) {
      if (!place.network.routes[pair] || pair / hosts == pair % hosts) continue;
      for (const int number : place.network.routes[pair]->channels) {
        const platforms::Channel& channel = place.network.channels[static_cast<std::size_t>(number)];
        const std::string link = platforms::link_of(channel.name);
        if (std::ranges::any_of(patterns, [&](const auto& pattern) { return matches(link, pattern); }))
          chosen_.try_emplace(channel.name, Link{link, channel.bandwidth, channel.latency});
      }
    }
  }
  if (chosen_.empty())
    throw ConfigError(fmt::format(
        "--links: expected links between the hosts of the jobs, found none like '{}'", setting_.links));
}

void JobTimes::add_network_numbers() {
  choose_links();
  numbers_.push_back({"bandwidth of links, times that of the platform", 1.0, 1.0});
  numbers_.push_back({"latency of links, times that of the platform", 1.0, 1.0});
  if (!setting_.has_window) return;
  double usual = 0.0;
  for (const auto& [channel, link] : chosen_)
    usual = std::max(usual, link.bandwidth.count() * 4.0 * link.latency.count());
  numbers_.push_back(
      {"TCP's window, bytes", std::max(usual, 1500.0), std::numeric_limits<double>::infinity()});
}

/// Each at a quarter of what the fastest row allows a push and a reply.
void JobTimes::add_server_numbers() {
  double largest_s = std::numeric_limits<double>::infinity();
  double bytes = 1.0, tensors = 1.0;
  ServerCost stated;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const LoadedJob& loaded = rows_[row].loaded;
    if (loaded.experiment.sync.over != sync::Route::server)
      throw ConfigError(
          fmt::format("{}: expected workers that exchange over a server (sync.over: server), found {}",
                      rows_[row].place, to_text(loaded.experiment.sync.over)));
    const Job job = tandem::make_job(loaded, "", places_[row].of_workers);
    largest_s =
        std::min(largest_s, 0.5 * rows_[row].step_s / static_cast<double>(job.roster().workers().size()));
    for (const ShardPieces& pieces : job.exchange().shard_layout()) {
      bytes = std::max(bytes, 4.0 * static_cast<double>(shard_elements(pieces)));
      tensors = std::max(tensors, static_cast<double>(tensors_in(pieces, job.model())));
    }
    if (const ServerCost* const cost = job.devices().server_cost(job.roster().servers().front()))
      stated = *cost;
  }
  const double part_s = 0.25 * largest_s;
  numbers_.push_back({"time per message, s", part_s, stated.message.count()});
  numbers_.push_back(
      {"time per byte, s", part_s / bytes, stated.push_rate ? 1.0 / stated.push_rate->count() : 0.0});
  numbers_.push_back({"time per tensor, s", part_s / tensors, stated.tensor.count()});
}

/// The devices' times by the platform are where the search begins.
void JobTimes::add_groups(PlatformCache& platforms) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (places_[row].has_measured) continue;
    const LoadedJob& loaded = rows_[row].loaded;
    const Experiment& experiment = loaded.experiment;
    const platforms::Host& host =
        platforms.platform(experiment.platform).host(experiment.placement.workers.front());
    Group& group = places_[row].group;
    group = {experiment.workload.model, experiment.workload.batch, host.device.name};
    if (computing_.contains(group)) continue;
    const Job job = tandem::make_job(loaded, "", places_[row].of_workers);
    const priced::WorkerTimes times = priced::classes_of_workers(job).front();
    const double computing_s =
        std::accumulate(times.backward.begin(), times.backward.end(), times.forward).count();
    computing_.emplace(group, numbers_.size());
    numbers_.push_back(
        {fmt::format("forward and backward pass of {}, batch {}{}, s", std::get<0>(group), std::get<1>(group),
                     host.device.name.empty() ? "" : ", " + host.device.name),
         computing_s, computing_s});
  }
}

platforms::Network JobTimes::changed(platforms::Network network, const std::vector<double>& numbers) const {
  if (setting_.subject != FitSubject::network) return network;
  const double faster = numbers[bandwidth_number], later = numbers[latency_number];
  network.typical.bandwidth = network.typical.bandwidth * faster;
  network.typical.latency = network.typical.latency * later;
  for (auto& route : network.routes) {
    if (!route) continue;
    for (const int number : route->channels) {
      const platforms::Channel& channel = network.channels[static_cast<std::size_t>(number)];
      if (chosen_.contains(channel.name)) route->latency += channel.latency * (later - 1.0);
    }
  }
  for (platforms::Channel& channel : network.channels) {
    if (!chosen_.contains(channel.name)) continue;
    channel.bandwidth = channel.bandwidth * faster;
    channel.latency = channel.latency * later;
  }
  if (setting_.has_window && std::isfinite(numbers[window_number]))
    limit_to_window(network, numbers[window_number]);
  return network;
}

double JobTimes::step_s(std::size_t row, const std::vector<double>& numbers) const {
  const Place& place = places_[row];
  LoadedJob loaded = rows_[row].loaded;
  if (const auto computing = computing_.find(place.group);
      !place.has_measured && computing != computing_.end())
    loaded.experiment.workload.measured_step = Seconds(numbers[computing->second]);
  if (setting_.subject == FitSubject::server) state_cost(loaded, numbers);
  const Job job = tandem::make_job(std::move(loaded), "", changed(place.of_workers, numbers));
  const priced::Prediction found = priced::predict(job, changed(place.network, numbers));
  // The work of servers hardly varies, so workers without rounds seldom wait for each other below the limit.
  const Seconds round = found.in_rounds ? found.round : found.fastest;
  return round.count() / found.steps_per_round;
}

std::vector<double> JobTimes::predict(const std::vector<double>& numbers) const {
  std::vector<double> times;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    try {
      times.push_back(step_s(row, numbers));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", rows_[row].place, error.what()));
    }
  }
  return times;
}

std::vector<double> JobTimes::measured() const {
  std::vector<double> times;
  for (const TimedRow& row : rows_) times.push_back(row.step_s);
  return times;
}

std::vector<JobTimes::Link> JobTimes::links(const std::vector<double>& numbers) const {
  std::vector<Link> all;
  for (const auto& [channel, link] : chosen_) {
    if (!all.empty() && all.back().name == link.name) continue;
    all.push_back(
        {link.name, link.bandwidth * numbers[bandwidth_number], link.latency * numbers[latency_number]});
  }
  return all;
}

ServerCost JobTimes::server_cost(const std::vector<double>& numbers) const { return cost_of(numbers); }

}  // namespace tandem::cli
