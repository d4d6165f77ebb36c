#include "platforms/discovery/latencies.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tandem::discovery {
namespace {

struct Equation {
  std::vector<int> cables;  ///< on the way between two machines
  double latency_s;
};

/// The cables of one of the two machines' ways to the core, but not of both.
std::vector<int> way(const Tree& tree, int a, int b) {
  auto up = tree.path_up(a), down = tree.path_up(b);
  while (!up.empty() && !down.empty() && up.back() == down.back()) {
    up.pop_back();
    down.pop_back();
  }
  up.insert(up.end(), down.begin(), down.end());
  return up;
}

}  // namespace

void fit_latencies(Tree& tree, const std::map<std::pair<int, int>, double>& pairs) {
  if (pairs.empty()) return;
  std::vector<Equation> equations;
  double sum = 0.0;
  for (const auto& [pair, latency_s] : pairs) {
    equations.push_back({way(tree, pair.first, pair.second), latency_s});
    sum += latency_s;
  }
  // Two machines' cables, and nothing for those of groups, to begin with: what pairs leave open stays so.
  std::vector<double> values(tree.nodes.size(), 0.0);
  std::fill_n(values.begin(), tree.machines, sum / static_cast<double>(pairs.size()) / 2);
  // Coordinate descent: each cable in turn takes the best value for those of all others.
  constexpr int most_sweeps = 2000;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double change = 0.0;
    for (std::size_t cable = 0; cable < values.size(); ++cable) {
      double residual = 0.0;
      int count = 0;
      for (const Equation& equation : equations) {
        if (std::ranges::find(equation.cables, static_cast<int>(cable)) == equation.cables.end()) continue;
        double rest = equation.latency_s;
        for (const int other : equation.cables) rest -= values[static_cast<std::size_t>(other)];
        residual += rest;
        ++count;
      }
      if (count == 0) continue;
      const double value = std::max(0.0, values[cable] + residual / count);
      change = std::max(change, std::abs(value - values[cable]));
      values[cable] = value;
    }
    if (change < 1e-9) break;
  }
  for (std::size_t cable = 0; cable < values.size(); ++cable)
    tree.nodes[cable].cable.latency_s = values[cable];
}

}  // namespace tandem::discovery
