// The trials of a survey: gives flows their message sizes, repeats what varies, and remembers the results.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "platforms/discovery/survey.hpp"

namespace tandem::discovery {

using Pair = std::pair<int, int>;  ///< from, to

class Trials {
 public:
  Trials(int machines, Bench& bench, const SurveySetting& setting, const Progress& progress);

  /// The time of one byte, by pair in either order. Measured once.
  double latency_s(int a, int b);
  const std::map<Pair, double>& latencies() const { return latencies_; }

  /// The rate of a flow alone: of two measurements the mean, or the median of three if they differ.
  double alone(int from, int to);
  /// The rates of concurrent flows, once.
  std::vector<double> together(const std::vector<Pair>& pairs, Seconds duration);
  /// The sum of the rates of concurrent flows: the median of three measurements.
  double total(const std::vector<Pair>& pairs);

  /// Flows between a machine and several others, first in one direction, then in the other. Several flows
  /// together may be faster than one alone.
  void spread(int machine, const std::vector<int>& others);

  /// The most that a machine was seen to send, and to receive, while only its flows were in flight.
  double out(int machine) const { return out_[static_cast<std::size_t>(machine)]; }
  double in(int machine) const { return in_[static_cast<std::size_t>(machine)]; }
  /// The rate of a flow if only the cables of its two machines limited it.
  double expected(int from, int to) const { return std::min(out(from), in(to)); }

  int machines() const { return machines_; }
  const SurveySetting& setting() const { return setting_; }

 private:
  Flow shaped(int from, int to, double rate, Seconds duration);
  double run_alone(int from, int to, double expected_rate);
  std::vector<double> run(const Trial& trial);

  int machines_;
  Bench& bench_;
  const SurveySetting& setting_;
  const Progress& progress_;
  double done_s_ = 0.0, expected_s_;
  std::map<Pair, double> latencies_, alone_;
  std::vector<double> out_, in_;
};

}  // namespace tandem::discovery
