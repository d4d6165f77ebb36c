#include "policies/prices/throughput.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem::prices {
namespace {

double busiest_s(std::span<const Seconds> service) {
  double most = 0.0;
  for (const Seconds each : service) most = std::max(most, each.count());
  return most;
}

double sum_s(std::span<const Seconds> service) {
  double sum = 0.0;
  for (const Seconds each : service) sum += each.count();
  return sum;
}

void finish(Throughput& found, std::span<const Seconds> service) {
  found.steps_per_s = std::accumulate(found.by_class.begin(), found.by_class.end(), 0.0);
  found.utilisation = found.steps_per_s * busiest_s(service);
}

/// Mean value analysis of so many equal workers.
double exact_rate(std::int64_t workers, double think_s, std::span<const Seconds> service) {
  std::vector<double> queue(service.size(), 0.0);
  double rate = 0.0;
  for (std::int64_t present = 1; present <= workers; ++present) {
    double cycle_s = think_s;
    for (std::size_t i = 0; i < service.size(); ++i) cycle_s += service[i].count() * (1.0 + queue[i]);
    rate = static_cast<double>(present) / cycle_s;
    for (std::size_t i = 0; i < service.size(); ++i) queue[i] = rate * service[i].count() * (1.0 + queue[i]);
  }
  return rate;
}

}  // namespace

Throughput throughput_bound(std::span<const QueueClass> classes, std::span<const Seconds> service) {
  Throughput found;
  for (const QueueClass& of : classes)
    found.by_class.push_back(of.count / (of.think.count() + sum_s(service)));
  const double alone = std::accumulate(found.by_class.begin(), found.by_class.end(), 0.0);
  const double cap =
      busiest_s(service) > 0 ? 1.0 / busiest_s(service) : std::numeric_limits<double>::infinity();
  // A busy station serves the workers of all classes in turn: each class gets its part of the rate.
  if (alone > cap)
    for (double& rate : found.by_class) rate *= cap / alone;
  finish(found, service);
  return found;
}

Throughput mean_value_analysis(const QueueClass& workers, std::span<const Seconds> service) {
  TANDEM_CHECK(workers.count >= 1, "workers", workers.count);
  Throughput found;
  found.by_class = {exact_rate(workers.count, workers.think.count(), service)};
  finish(found, service);
  return found;
}

Throughput schweitzer(std::span<const QueueClass> classes, std::span<const Seconds> service) {
  const std::size_t stations = service.size();
  // Mean numbers of workers of a class at a station; to begin with, spread evenly.
  std::vector<std::vector<double>> queue;
  for (const QueueClass& of : classes)
    queue.emplace_back(stations, static_cast<double>(of.count) / static_cast<double>(stations + 1));
  Throughput found;
  found.by_class.resize(classes.size());
  constexpr int most_rounds = 100'000;
  for (int round = 0; round < most_rounds; ++round) {
    std::vector<double> at_station(stations, 0.0);
    for (const auto& of : queue)
      for (std::size_t i = 0; i < stations; ++i) at_station[i] += of[i];
    double change = 0.0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      double cycle_s = classes[c].think.count();
      std::vector<double> stay_s(stations);
      for (std::size_t i = 0; i < stations; ++i) {
        // One that arrives finds the others as they are in the mean, but itself.
        stay_s[i] = service[i].count() * (1.0 + at_station[i] - queue[c][i] / classes[c].count);
        cycle_s += stay_s[i];
      }
      found.by_class[c] = classes[c].count / cycle_s;
      for (std::size_t i = 0; i < stations; ++i) {
        const double next = found.by_class[c] * stay_s[i];
        change = std::max(change, std::abs(next - queue[c][i]) / classes[c].count);
        queue[c][i] = next;
      }
    }
    if (change < 1e-12) break;
  }
  finish(found, service);
  return found;
}

Throughput throughput(std::span<const QueueClass> classes, std::span<const Seconds> service,
                      double variation) {
  TANDEM_CHECK(variation >= 0 && variation <= 1, "variation", variation);
  Throughput found = throughput_bound(classes, service);
  if (variation == 0.0 || service.empty()) return found;
  const Throughput varied =
      classes.size() == 1 ? mean_value_analysis(classes.front(), service) : schweitzer(classes, service);
  const double share = variation * variation;
  for (std::size_t c = 0; c < classes.size(); ++c)
    found.by_class[c] = (1.0 - share) * found.by_class[c] + share * varied.by_class[c];
  finish(found, service);
  return found;
}

}  // namespace tandem::prices
