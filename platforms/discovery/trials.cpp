#include "platforms/discovery/trials.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::discovery {
namespace {

constexpr double unknown_rate = 1.25e9;
constexpr double alike = 0.03;  // measurements that differ less are not repeated

double median_of_three(double a, double b, double c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

}  // namespace

Trials::Trials(int machines, Bench& bench, const SurveySetting& setting, const Progress& progress)
    : machines_(machines),
      bench_(bench),
      setting_(setting),
      progress_(progress),
      // Single flows in both directions with two partners, and permutations; groups are few.
      expected_s_(machines * (11.0 * setting.single.count() + 2.0 * setting.group.count())),
      out_(static_cast<std::size_t>(machines), 0.0),
      in_(out_) {}

double Trials::latency_s(int a, int b) {
  const Pair pair = std::minmax(a, b);
  const auto known = latencies_.find(pair);
  if (known != latencies_.end()) return known->second;
  return latencies_[pair] = bench_.latency(pair.first, pair.second).count();
}

Flow Trials::shaped(int from, int to, double rate, Seconds duration) {
  // Up to 32 KiB MPI sends a message without a handshake. Above that a handshake would wait behind traffic
  // in the other direction, which costs more than it gains on all but very fast links.
  constexpr double fast = 1.5e9;
  const std::int64_t largest = rate > fast ? 1 << 20 : 32 << 10;
  constexpr double chunks_per_flow = 200.0;
  const double bytes = rate * duration.count();
  const auto chunk =
      std::clamp(static_cast<std::int64_t>(bytes / chunks_per_flow), std::int64_t{1024}, largest);
  // Enough for the link to be full, with a margin for the time until messages are noticed.
  const double under_way = 4.0 * latency_s(from, to) * rate / static_cast<double>(chunk);
  const int in_flight = static_cast<int>(std::clamp(std::ceil(under_way), 8.0, 256.0));
  return {from, to, Bytes(chunk), in_flight, Bytes(static_cast<std::int64_t>(1.5 * bytes) + chunk)};
}

std::vector<double> Trials::run(const Trial& trial) {
  const auto rates = bench_.rates(trial);
  done_s_ += trial.duration.count();
  if (progress_) progress_(std::min(0.99, done_s_ / expected_s_));
  return rates;
}

double Trials::run_alone(int from, int to, double expected_rate) {
  const Trial trial{{shaped(from, to, expected_rate, setting_.single)}, setting_.single};
  return run(trial).front();
}

double Trials::alone(int from, int to) {
  if (const auto known = alone_.find({from, to}); known != alone_.end()) return known->second;
  double guess = unknown_rate;
  double rate = run_alone(from, to, guess);
  // The first one has messages of a size for an unknown rate.
  for (int i = 0; i < 3 && (rate < 0.5 * guess || rate > 1.5 * guess); ++i) {
    guess = rate;
    rate = run_alone(from, to, guess);
  }
  const double second = run_alone(from, to, rate);
  const bool differs = std::abs(rate - second) > alike * rate;
  rate = differs ? median_of_three(rate, second, run_alone(from, to, rate)) : (rate + second) / 2;
  alone_[{from, to}] = rate;
  if (from < machines_ && to < machines_) {
    auto& most_out = out_[static_cast<std::size_t>(from)];
    auto& most_in = in_[static_cast<std::size_t>(to)];
    most_out = std::max(most_out, rate);
    most_in = std::max(most_in, rate);
  }
  return rate;
}

void Trials::spread(int machine, const std::vector<int>& others) {
  constexpr double faster = 1.08;
  for (const bool sends : {true, false}) {
    std::vector<Pair> pairs;
    for (const int other : others) pairs.push_back(sends ? Pair{machine, other} : Pair{other, machine});
    auto& most = (sends ? out_ : in_)[static_cast<std::size_t>(machine)];
    double sum = 0.0;
    for (const double rate : together(pairs, setting_.single)) sum += rate;
    if (sum > faster * most) most = std::max(most, total(pairs));
  }
}

std::vector<double> Trials::together(const std::vector<Pair>& pairs, Seconds duration) {
  Trial trial{{}, duration};
  for (const auto& [from, to] : pairs) trial.flows.push_back(shaped(from, to, expected(from, to), duration));
  return run(trial);
}

double Trials::total(const std::vector<Pair>& pairs) {
  double sums[3];
  for (double& sum : sums) {
    sum = 0.0;
    for (const double rate : together(pairs, setting_.group)) sum += rate;
  }
  return median_of_three(sums[0], sums[1], sums[2]);
}

}  // namespace tandem::discovery
