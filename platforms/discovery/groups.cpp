#include "platforms/discovery/groups.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "policies/vocabulary/rng.hpp"

namespace tandem::discovery {
namespace {

// A pair crosses a shared cable if its flows were slower than this share of its machines' rates.
constexpr double least_similarity = 0.85;
// No cable limits flows of a group that reach more than this share of its machines' rates.
constexpr double not_limited = 0.9;
// Both directions together of a cable that they share have less than this share of the sum of each alone.
constexpr double shared_below = 0.7;
constexpr int most_units_for_all_pairs = 64;

using Square = std::vector<std::vector<double>>;

/// Average linkage; members of a group in the order in which they were joined.
std::vector<std::vector<int>> merged(const Square& similarity, double least) {
  std::vector<std::vector<int>> groups;
  for (std::size_t i = 0; i < similarity.size(); ++i) groups.push_back({static_cast<int>(i)});
  const auto mean = [&](const std::vector<int>& a, const std::vector<int>& b) {
    double sum = 0.0;
    for (const int i : a)
      for (const int k : b) sum += similarity[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
    return sum / static_cast<double>(a.size() * b.size());
  };
  for (;;) {
    std::optional<std::pair<std::size_t, std::size_t>> nearest;
    double best = least;
    for (std::size_t i = 0; i < groups.size(); ++i)
      for (std::size_t k = i + 1; k < groups.size(); ++k)
        if (const double value = mean(groups[i], groups[k]); value > best) {
          best = value;
          nearest = {i, k};
        }
    if (!nearest) return groups;
    auto& first = groups[nearest->first];
    auto& second = groups[nearest->second];
    first.insert(first.end(), second.begin(), second.end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(nearest->second));
  }
}

/// The mean of the two smallest shares of each pair, so that one disturbance alone separates no pair.
Square worst_of(const std::vector<std::vector<std::vector<double>>>& seen) {
  Square worst(seen.size(), std::vector<double>(seen.size(), 1.0));
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (std::size_t k = i + 1; k < seen.size(); ++k) {
      auto shares = seen[i][k];
      std::ranges::sort(shares);
      // Pairs that never met say nothing.
      worst[i][k] = worst[k][i] = shares.empty()       ? least_similarity
                                  : shares.size() == 1 ? shares.front()
                                                       : (shares[0] + shares[1]) / 2;
    }
  return worst;
}

/// What takes part in a level: machines, or groups found before.
struct Unit {
  int node;
  std::vector<int> machines;
};

struct Group {
  std::vector<int> units;
  Cable cable;
};

class Level {
 public:
  Level(Tree& tree, Trials& trials) : tree_(tree), trials_(trials) {
    for (std::size_t node = 0; node < tree.nodes.size(); ++node)
      if (tree.nodes[node].parent == Node::core)
        units_.push_back({static_cast<int>(node), tree.machines_below(static_cast<int>(node))});
  }

  /// Whether groups were added.
  bool group_units();
  /// The cable of these units to all others; its `limits` says whether they have one of their own.
  Cable measure(const std::vector<int>& group, const std::vector<std::vector<int>>& groups) const;

 private:
  const Unit& unit(int index) const { return units_[static_cast<std::size_t>(index)]; }
  int count() const { return static_cast<int>(units_.size()); }
  double capacity(const std::vector<int>& machines, bool up) const;
  Square similarities() const;
  void add_permutation(const std::vector<int>& order, int shift,
                       std::vector<std::vector<std::vector<double>>>& seen) const;
  std::vector<int> machines_of(const std::vector<int>& units) const;
  double fill(const std::vector<int>& own, const std::vector<std::vector<int>>& blocks, bool up,
              std::vector<Pair>* used, double& possible) const;
  bool sends_through(const Unit& lone, const Group& group) const;
  void join_lone(const std::vector<Group>& found, int first_node);
  void drop_implied(std::vector<Group>& found) const;

  Tree& tree_;
  Trials& trials_;
  std::vector<Unit> units_;
};

/// The rate at which the machines can send, or receive, through the cables known so far.
double Level::capacity(const std::vector<int>& machines, bool up) const {
  std::vector<double> below(tree_.nodes.size(), 0.0);
  for (const int machine : machines)
    below[static_cast<std::size_t>(machine)] = std::numeric_limits<double>::max();
  double sum = 0.0;
  for (std::size_t node = 0; node < below.size(); ++node) {
    const Node& own = tree_.nodes[node];
    const double carried = std::min(below[node], up ? own.cable.up : own.cable.down);
    (own.parent == Node::core ? sum : below[static_cast<std::size_t>(own.parent)]) += carried;
  }
  return sum;
}

std::vector<int> Level::machines_of(const std::vector<int>& units) const {
  std::vector<int> machines;
  for (const int index : units)
    machines.insert(machines.end(), unit(index).machines.begin(), unit(index).machines.end());
  return machines;
}

/// Each unit sends to the one that is `shift` after it in the order; adds the rate of each pair of units over
/// what their cables allow.
void Level::add_permutation(const std::vector<int>& order, int shift,
                            std::vector<std::vector<std::vector<double>>>& seen) const {
  std::vector<Pair> flows, units;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Pair pair{order[i], order[(i + static_cast<std::size_t>(shift)) % order.size()]};
    const auto& from = unit(pair.first).machines;
    const auto& to = unit(pair.second).machines;
    for (std::size_t k = 0; k < std::max(from.size(), to.size()); ++k) {
      flows.emplace_back(from[k % from.size()], to[k % to.size()]);
      units.push_back(pair);
    }
  }
  const auto rates = trials_.together(flows, trials_.setting().single);
  std::vector<double> sums(units_.size(), 0.0);  // by the unit that sends
  for (std::size_t i = 0; i < flows.size(); ++i) sums[static_cast<std::size_t>(units[i].first)] += rates[i];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Pair pair{order[i], order[(i + static_cast<std::size_t>(shift)) % order.size()]};
    const double possible =
        std::min(capacity(unit(pair.first).machines, true), capacity(unit(pair.second).machines, false));
    const double share = sums[static_cast<std::size_t>(pair.first)] / possible;
    seen[static_cast<std::size_t>(std::min(pair.first, pair.second))]
        [static_cast<std::size_t>(std::max(pair.first, pair.second))]
            .push_back(share);
  }
}

/// Of each pair of units, how fast its flows were at worst in permutations; 1: only its own cables limit it.
Square Level::similarities() const {
  const std::size_t size = units_.size();
  std::vector<std::vector<std::vector<double>>> seen(size, std::vector<std::vector<double>>(size));
  Rng random = Rng::stream(trials_.setting().seed, "permutations");
  std::vector<int> order(size);
  std::iota(order.begin(), order.end(), 0);
  const int shifts = std::min(count() - 1, most_units_for_all_pairs);
  const auto add_shifts = [&] {
    for (int shift = 1; shift <= shifts; ++shift) add_permutation(order, shift, seen);
  };
  // As listed, because lists often follow racks: then all members of a rack send out of it at the same time.
  add_shifts();
  const int random_orders = count() <= 10 ? 3 : count() <= 32 ? 1 : 0;
  for (int repetition = 0; repetition < random_orders; ++repetition) {
    random.shuffle(order);
    add_shifts();
  }
  // So that this holds for all that seem to be together.
  order = merged(worst_of(seen), -1.0).front();
  add_shifts();
  return worst_of(seen);
}

/// Starts flows between all machines of a group and machines of the other blocks, as many as may fill a
/// cable between them. Returns the largest measured sum; `possible`: the limit by the other cables.
double Level::fill(const std::vector<int>& own, const std::vector<std::vector<int>>& blocks, bool up,
                   std::vector<Pair>* used, double& possible) const {
  std::vector<int> others;  // block by block in turn, so that none of them is the bottleneck
  for (std::size_t turn = 0; others.size() < static_cast<std::size_t>(trials_.machines()); ++turn) {
    const std::size_t before = others.size();
    for (const auto& block : blocks)
      if (turn < block.size()) others.push_back(block[turn]);
    if (others.size() == before) break;
  }
  std::stable_sort(others.begin(), others.end(), [&](int a, int b) {
    return (up ? trials_.in(a) : trials_.out(a)) > 1.2 * (up ? trials_.in(b) : trials_.out(b));
  });
  const double wanted = capacity(own, up);
  // Two each, so that a cable further away limits only some of the flows.
  std::vector<int> partners;
  while (partners.size() < others.size() && partners.size() < 4 * own.size() &&
         (partners.size() < 2 * own.size() || capacity(partners, !up) < wanted))
    partners.push_back(others[partners.size()]);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < std::max(own.size(), partners.size()); ++i) {
    const int one = own[i % own.size()], other = partners[i % partners.size()];
    pairs.push_back(up ? Pair{one, other} : Pair{other, one});
  }
  possible = std::min(wanted, capacity(partners, !up));
  if (used != nullptr) *used = pairs;
  return trials_.total(pairs);
}

Cable Level::measure(const std::vector<int>& group, const std::vector<std::vector<int>>& groups) const {
  const std::vector<int> own = machines_of(group);
  std::vector<std::vector<int>> blocks;
  for (const auto& other : groups)
    if (other != group) blocks.push_back(machines_of(other));
  Cable cable;
  std::vector<Pair> all;
  cable.limits = false;
  for (const bool up : {true, false}) {
    double possible = 0.0;
    std::vector<Pair> pairs;
    double most = fill(own, blocks, up, &pairs, possible);
    // Another block's cable may have been the bottleneck: each of the largest alone.
    std::vector<std::vector<int>> largest = blocks;
    std::ranges::stable_sort(largest, std::greater{}, [](const auto& block) { return block.size(); });
    if (largest.size() > 3) largest.resize(3);
    for (const auto& block : largest) {
      if (most >= not_limited * possible || block.size() < 2) break;
      double other_possible = 0.0;
      const double other = fill(own, {block}, up, nullptr, other_possible);
      if (other > most) most = other;
    }
    if (most < not_limited * possible) cable.limits = true;
    (up ? cable.up : cable.down) = most;
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  if (!cable.limits) return cable;
  if (const double both = trials_.total(all); both < shared_below * (cable.up + cable.down)) {
    cable.is_shared = true;
    cable.up = cable.down = std::max(cable.up, cable.down);
  }
  return cable;
}

/// Drops a group whose cable carries as much as the cables of all others together. No measurement can
/// separate such a group from one without a cable: the others meet there.
void Level::drop_implied(std::vector<Group>& found) const {
  const auto is_implied = [&](const auto& candidate) {
    double up = 0.0, down = 0.0;
    int others = 0;
    std::vector<bool> grouped(units_.size(), false);
    for (const auto& [members, cable] : found) {
      for (const int member : members) grouped[static_cast<std::size_t>(member)] = true;
      if (members == candidate.units) continue;
      up += cable.up;
      down += cable.down;
      ++others;
    }
    for (int index = 0; index < count(); ++index)
      if (!grouped[static_cast<std::size_t>(index)]) {
        up += capacity(unit(index).machines, true);
        down += capacity(unit(index).machines, false);
        ++others;
      }
    constexpr double as_much = 0.93;
    return others > 1 && candidate.cable.up >= as_much * down && candidate.cable.down >= as_much * up;
  };
  const auto implied = std::ranges::find_if(found, is_implied);
  if (implied != found.end()) found.erase(implied);
}

/// Whether a unit sends through the cable of a group: while that is full, what the unit sends is lost by
/// others. Tried with a receiver elsewhere that has bandwidth to spare; without one, the answer is no.
bool Level::sends_through(const Unit& lone, const Group& group) const {
  constexpr double least_share = 0.08;  // of the cable: less is lost in its noise
  const double rate = capacity(lone.machines, true);
  if (rate < least_share * group.cable.up) return false;
  std::vector<std::vector<int>> blocks;
  for (int other = 0; other < count(); ++other)
    if (unit(other).node != lone.node && std::ranges::find(group.units, other) == group.units.end())
      blocks.push_back(unit(other).machines);
  if (blocks.empty()) return false;
  double possible = 0.0;
  std::vector<Pair> pairs;
  const double full = fill(machines_of(group.units), blocks, true, &pairs, possible);
  if (full < not_limited * group.cable.up) return false;
  std::vector<double> load(tree_.nodes.size(), 0.0);  // of each cable, downwards
  for (const auto& [from, to] : pairs)
    for (const int node : tree_.path_up(to))
      load[static_cast<std::size_t>(node)] += full / static_cast<double>(pairs.size());
  for (const auto& block : blocks)
    for (const int machine : block) {
      const auto way = tree_.path_up(machine);
      const bool has_room = std::ranges::all_of(way, [&](int node) {
        return tree_.nodes[static_cast<std::size_t>(node)].cable.down >
               load[static_cast<std::size_t>(node)] + rate;
      });
      if (!has_room) continue;
      for (const int sender : lone.machines) pairs.emplace_back(sender, machine);
      return trials_.total(pairs) < full + 0.5 * rate;
    }
  return false;
}

/// Units that a shared cable does not slow down, mostly slow ones, belong to the group whose cable they use.
/// Pre: the groups have their nodes, from `first_node` on.
void Level::join_lone(const std::vector<Group>& found, int first_node) {
  for (const Unit& lone : units_)
    for (std::size_t number = 0; number < found.size(); ++number) {
      Node& node = tree_.nodes[static_cast<std::size_t>(lone.node)];
      if (node.parent == Node::core && sends_through(lone, found[number]))
        node.parent = first_node + static_cast<int>(number);
    }
}

bool Level::group_units() {
  if (count() < 4) return false;  // of three, one is alone, and limits the others itself
  double fastest = 0.0;
  for (const Unit& one : units_) fastest = std::max(fastest, capacity(one.machines, true));
  std::vector<int> fast;
  for (int index = 0; index < count(); ++index)
    if (capacity(unit(index).machines, true) > fastest / 2) fast.push_back(index);
  const auto all = similarities();
  Square similarity;
  for (const int one : fast) {
    auto& row = similarity.emplace_back();
    for (const int other : fast)
      row.push_back(all[static_cast<std::size_t>(one)][static_cast<std::size_t>(other)]);
  }
  auto groups = linked(similarity, least_similarity);
  for (auto& group : groups)
    for (int& member : group) member = fast[static_cast<std::size_t>(member)];
  std::vector<Group> found;
  for (const auto& group : groups) {
    if (group.size() < 2 || groups.size() < 2) continue;
    const Cable cable = measure(group, groups);
    if (cable.limits) found.push_back({group, cable});
  }
  drop_implied(found);
  const int first_node = static_cast<int>(tree_.nodes.size());
  for (const auto& [members, cable] : found) {
    const int node = static_cast<int>(tree_.nodes.size());
    for (const int member : members) tree_.nodes[static_cast<std::size_t>(unit(member).node)].parent = node;
    tree_.nodes.push_back({.cable = cable});
  }
  join_lone(found, first_node);
  return !found.empty();
}

}  // namespace

std::vector<std::vector<int>> linked(const std::vector<std::vector<double>>& similarity, double least) {
  auto groups = merged(similarity, least);
  for (auto& group : groups) std::ranges::sort(group);
  return groups;
}

void find_groups(Tree& tree, Trials& trials) {
  while (Level(tree, trials).group_units()) {
  }
}

void add_known_groups(Tree& tree, Trials& trials, const std::vector<KnownGroup>& known) {
  std::vector<int> node_of;  // of each known group; -1: it has all machines, so no cable
  for (const KnownGroup& group : known) {
    const Level level(tree, trials);
    std::vector<int> nodes = group.machines;
    for (const int below : group.groups)
      if (const int node = node_of[static_cast<std::size_t>(below)]; node >= 0) nodes.push_back(node);
    std::vector<int> units;
    std::vector<std::vector<int>> groups;
    int index = 0;
    for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
      if (tree.nodes[node].parent != Node::core) continue;
      if (std::ranges::find(nodes, static_cast<int>(node)) != nodes.end())
        units.push_back(index);
      else
        groups.push_back({index});
      ++index;
    }
    const bool has_cable = !units.empty() && !groups.empty();
    node_of.push_back(has_cable ? static_cast<int>(tree.nodes.size()) : -1);
    if (!has_cable) continue;
    const Cable cable = level.measure(units, groups);
    for (const int node : nodes) tree.nodes[static_cast<std::size_t>(node)].parent = node_of.back();
    tree.nodes.push_back({.name = group.name, .cable = cable});
  }
}

}  // namespace tandem::discovery
