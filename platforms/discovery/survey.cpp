#include "platforms/discovery/survey.hpp"

#include <algorithm>

#include "platforms/discovery/groups.hpp"
#include "platforms/discovery/latencies.hpp"
#include "platforms/discovery/trials.hpp"

namespace tandem::discovery {
namespace {

constexpr int all_latencies_up_to = 24;  // machines; with more, each with two others

void measure_latencies(Trials& trials) {
  const int machines = trials.machines();
  const bool all = machines <= all_latencies_up_to;
  for (int a = 0; a < machines; ++a)
    for (int b = a + 1; b < machines; ++b)
      if (all || b == a + 1 || a == 0 || b == (a + machines / 2) % machines) trials.latency_s(a, b);
}

/// Each machine with its neighbours in the list, then with the fastest of all, so that no machine is judged
/// by slow partners alone.
void measure_cables(Trials& trials) {
  const int machines = trials.machines();
  for (int machine = 0; machine < machines; ++machine) {
    const int next = (machine + 1) % machines;
    if (next == machine) continue;
    trials.alone(machine, next);
    trials.alone(next, machine);
  }
  int fastest = 0;
  const auto slower_way = [&](int machine) { return std::min(trials.out(machine), trials.in(machine)); };
  for (int machine = 1; machine < machines; ++machine)
    if (slower_way(machine) > slower_way(fastest)) fastest = machine;
  for (int machine = 0; machine < machines; ++machine) {
    if (machine == fastest) continue;
    trials.alone(machine, fastest);
    trials.alone(fastest, machine);
  }
  // One flow may be limited further away, or by its sender's software.
  constexpr int most_others = 4;
  for (int machine = 0; machine < machines && machines > 2; ++machine) {
    std::vector<int> others;
    const int count = std::min(most_others, machines - 1);
    for (int i = 0; i < count; ++i) others.push_back((machine + 1 + i * (machines - 1) / count) % machines);
    trials.spread(machine, others);
  }
}

/// Which machines have a cable whose directions share its bandwidth.
class Duplex {
 public:
  explicit Duplex(Trials& trials)
      : trials_(trials),
        is_full_(static_cast<std::size_t>(trials.machines()), false),
        is_doubtful_(is_full_) {
    const int machines = trials.machines();
    for (int machine = 0; machine + 1 < machines; ++machine) test(machine, machine + 1);
    for (int machine = 0; machine < machines; ++machine) test_with_others(machine);
  }

  bool is_half(int machine) const { return at(is_doubtful_, machine) && !at(is_full_, machine); }

 private:
  static bool at(const std::vector<bool>& list, int machine) {
    return list[static_cast<std::size_t>(machine)];
  }
  double cable(int machine) const { return std::max(trials_.out(machine), trials_.in(machine)); }

  /// Both directions of a pair together. A machine that then has more than its cable has one way is full
  /// duplex. One that could have more, and has not, is doubtful: the other machine may be the cause.
  void test(int a, int b) {
    constexpr double more = 1.3, proof = 1.15;
    const double apart = trials_.alone(a, b) + trials_.alone(b, a);
    constexpr int attempts = 3;  // others may have used the machines
    for (int attempt = 0; attempt < attempts; ++attempt) {
      bool is_open = false;
      const auto rates = trials_.together({{a, b}, {b, a}}, trials_.setting().single);
      for (const int machine : {a, b}) {
        if (apart < more * cable(machine)) continue;
        is_doubtful_[static_cast<std::size_t>(machine)] = true;
        if (rates[0] + rates[1] > proof * cable(machine)) is_full_[static_cast<std::size_t>(machine)] = true;
        is_open = is_open || is_half(machine);
      }
      if (!is_open) return;
    }
  }
  /// With machines that are full duplex, as long as there are some; then with any.
  void test_with_others(int machine) {
    constexpr int most_tests = 8;
    int tests = 0;
    for (const bool with_full : {true, false})
      for (int other = 0; other < trials_.machines() && tests < most_tests; ++other) {
        if (!is_half(machine)) return;
        if (other == machine || at(is_full_, other) != with_full) continue;
        test(machine, other);
        ++tests;
        if (with_full && trials_.expected(other, machine) >= 0.9 * trials_.in(machine)) return;
      }
  }

  Trials& trials_;
  std::vector<bool> is_full_, is_doubtful_;
};

}  // namespace

Tree survey(int machines, Bench& bench, const SurveySetting& setting, const Progress& progress) {
  Trials trials(machines, bench, setting, progress);
  measure_latencies(trials);
  measure_cables(trials);
  Tree tree{.machines = machines, .nodes = {}, .loopbacks = {}};
  const Duplex duplex(trials);
  for (int machine = 0; machine < machines; ++machine) {
    Cable cable{.up = trials.out(machine), .down = trials.in(machine)};
    if (duplex.is_half(machine)) {
      cable.is_shared = true;
      cable.up = cable.down = std::max(cable.up, cable.down);
    }
    tree.nodes.push_back({.cable = cable});
  }
  if (setting.known.empty())
    find_groups(tree, trials);
  else
    add_known_groups(tree, trials, setting.known);
  fit_latencies(tree, trials.latencies());
  for (int machine = 0; machine < machines && setting.has_companions; ++machine) {
    const int companion = machines + machine;
    const double latency_s = trials.latency_s(machine, companion);
    tree.loopbacks.push_back({trials.alone(machine, companion), latency_s});
  }
  if (progress) progress(1.0);
  return tree;
}

}  // namespace tandem::discovery
