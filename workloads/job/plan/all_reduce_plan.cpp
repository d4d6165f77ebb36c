#include "workloads/job/plan/all_reduce_plan.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "policies/collectives/network.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using collectives::Arrangement;
constexpr Bytes element_size{sizeof(float)};
// Share of the cost that another order must save to be chosen, so that pieces that differ by one element do
// not matter.
constexpr double worth_leaving = 1e-3;
// The same for another copy of the collective.
constexpr double worth_a_copy = 1e-2;
constexpr int most_rings_found = 8;
// Only on request: its gain is that of overlapping reductions, which depends on how a rank computes. Where
// sums keep the rank from sending and receiving, as on processors, there is none.
constexpr const char* on_request = "pipelined-ring";
constexpr double never = std::numeric_limits<double>::infinity();

/// The network between workers in the form that collectives::price needs, of their hosts alone: platforms
/// may have many more. Unknown routes are assumed to be equal and not to share links.
collectives::Network network_of(const std::vector<int>& host_of, const platforms::Network& network) {
  if (network.routes.empty())
    return {.channels = {{1.0 / network.typical.bandwidth.count(), false}},
            .host_of = std::vector<int>(host_of.size(), 0),
            .hosts = 1,
            .routes = {{network.typical.latency, {0}}}};
  collectives::Network between;
  for (const auto& channel : network.channels)
    between.channels.push_back({1.0 / channel.bandwidth.count(), channel.shared});
  std::vector<int> used = host_of;
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  between.hosts = static_cast<int>(used.size());
  for (const int host : host_of)
    between.host_of.push_back(static_cast<int>(std::ranges::lower_bound(used, host) - used.begin()));
  between.routes.reserve(used.size() * used.size());
  for (const int from : used)
    for (const int to : used) {
      const auto& route =
          network
              .routes[static_cast<std::size_t>(from) * network.hosts.size() + static_cast<std::size_t>(to)];
      between.routes.push_back(route ? collectives::Network::Route{route->latency, route->channels}
                                     : collectives::Network::Route{Seconds(never)});
    }
  return between;
}

/// The number of each worker's host among all hosts; in the order of the network, if it is known.
std::vector<int> hosts_of(const std::vector<std::string>& hosts, const platforms::Network& network) {
  std::unordered_map<std::string, int> known;
  for (const auto& host : network.hosts) known.try_emplace(host, static_cast<int>(known.size()));
  std::vector<int> numbers;
  for (const auto& host : hosts) {
    TANDEM_CHECK(known.contains(host) || !network.known(), "host", host);
    numbers.push_back(known.try_emplace(host, static_cast<int>(known.size())).first->second);
  }
  return numbers;
}

class Planner {
 public:
  Planner(const AllReduceSetting& setting, const platforms::Network& network)
      : setting_(setting),
        platform_(network),
        host_of_(hosts_of(setting.hosts, network)),
        network_(network_of(host_of_, network)) {
    set_buckets(setting.bucket_elements);
    if (setting.collective == cheapest_all_reduce)
      names_ = collectives::catalog().names();
    else
      names_ = {setting.collective};
    if (names_.size() > 1) std::erase(names_, on_request);
  }

  /// Plans for other buckets than those of the setting. Known prices stay.
  void set_buckets(std::vector<std::int64_t> elements) {
    elements_ = std::move(elements);
    buckets_.clear();
    for (const std::int64_t of_one : elements_) ++buckets_[of_one];
    reduces_ = true;
  }

  double price(const AllReducePlan& plan) {
    double sum = 0.0;
    for (std::size_t bucket = 0; bucket < plan.collectives.size(); ++bucket)
      sum += price_of(plan.collectives[bucket], elements_.at(bucket), copies_of(plan));
    return sum;
  }

  AllReducePlan plan() {
    const std::vector<AllReducePlan> candidates = in_rings(all_candidates());
    const bool has_choice = candidates.size() > 1 || names_.size() > 1;
    TANDEM_CHECK(names_.size() == 1 || platform_.known(), "collective", setting_.collective);
    double least = never;
    AllReducePlan best = candidates.front();
    for (const AllReducePlan& candidate : candidates) {
      const double cost = has_choice ? cost_of(copies_of(candidate)) : 0.0;
      const bool has_more = candidate.rings() > best.rings();
      if (cost >= least * (1 - (has_more ? worth_a_copy : worth_leaving))) continue;
      least = cost;
      best = candidate;
    }
    best.picked = names_.size() > 1;
    reduces_ = true;
    for (const std::int64_t elements : elements_)
      best.collectives.push_back(has_choice ? cheapest(elements, copies_of(best)).first : names_.front());
    return best;
  }

 private:
  /// Every order with every grouping. The order of ranks first.
  std::vector<AllReducePlan> all_candidates() const {
    std::vector<int> by_rank(host_of_.size());
    std::iota(by_rank.begin(), by_rank.end(), 0);
    std::vector<std::vector<int>> orders = {by_rank};
    if (!setting_.by_rank)
      for (const auto& places : platform_.orders) orders.push_back(workers_in(places));
    std::vector<AllReducePlan> candidates;
    for (std::size_t order = 0; order < orders.size(); ++order) {
      if (std::find(orders.begin(), orders.begin() + static_cast<std::ptrdiff_t>(order), orders[order]) !=
          orders.begin() + static_cast<std::ptrdiff_t>(order))
        continue;
      for (auto& groups : groupings(orders[order]))
        candidates.push_back({.workers = {orders[order], std::move(groups)}, .by_rank = order == 0});
    }
    return candidates;
  }

  /// Workers by the order of their hosts; those of one host by rank.
  std::vector<int> workers_in(const std::vector<int>& places) const {
    std::unordered_map<int, std::vector<int>> workers_at;
    for (std::size_t worker = 0; worker < host_of_.size(); ++worker)
      workers_at[host_of_[worker]].push_back(static_cast<int>(worker));
    std::vector<int> workers;
    for (const int host : places) {
      const std::vector<int>& here = workers_at[host];
      workers.insert(workers.end(), here.begin(), here.end());
    }
    return workers;
  }

  /// The groups of consecutive workers that hosts and levels of the network form. One group of all workers if
  /// there are none, or if no collective uses groups.
  std::vector<std::vector<int>> groupings(const std::vector<int>& order) const {
    const std::vector<std::vector<int>> one = {{static_cast<int>(order.size())}};
    const bool needed = std::any_of(names_.begin(), names_.end(), [](const std::string& name) {
      return collectives::takes_groups(collectives::catalog().find(name).make);
    });
    if (!needed) return one;
    std::vector<std::vector<int>> found;
    const auto add = [&](const auto& group_of) {
      std::vector<int> sizes;
      for (std::size_t at = 0; at < order.size(); ++at) {
        if (at > 0 && group_of(order[at]) == group_of(order[at - 1]))
          ++sizes.back();
        else
          sizes.push_back(1);
      }
      const bool groups = 1 < sizes.size() && sizes.size() < order.size();
      if (groups && std::find(found.begin(), found.end(), sizes) == found.end())
        found.push_back(std::move(sizes));
    };
    const auto host = [this](int worker) { return host_of_[static_cast<std::size_t>(worker)]; };
    add(host);
    for (const auto& level : platform_.levels)
      add([&](int worker) { return level[static_cast<std::size_t>(host(worker))]; });
    return found.empty() ? one : found;
  }

  // ---- Several copies ----

  using Copies = std::vector<Arrangement>;
  static Copies copies_of(const AllReducePlan& plan) {
    Copies copies = {plan.workers};
    copies.insert(copies.end(), plan.copies.begin(), plan.copies.end());
    return copies;
  }

  /// The plans with as many copies as the setting asks for, or up to as many as may pay, fewer first.
  std::vector<AllReducePlan> in_rings(std::vector<AllReducePlan> plans) {
    const int workers = static_cast<int>(host_of_.size());
    // Nothing is known about links that copies could use.
    const bool knows_links = !platform_.routes.empty();
    if (setting_.rings == 1 || workers < 2 || (setting_.rings == 0 && !knows_links)) return plans;
    const bool finds = setting_.rings == 0;
    reduces_ = false;
    const auto rings = knows_links && !setting_.by_rank
                           ? collectives::disjoint_rings(network_, finds ? most_rings_found : setting_.rings)
                           : std::vector<std::vector<int>>();
    std::vector<AllReducePlan> all;
    if (finds) all = plans;
    const int most = finds ? std::min(workers, most_rings_found) : setting_.rings;
    for (int count = finds ? 1 : setting_.rings; count <= most; ++count) {
      if (static_cast<int>(rings.size()) >= count) {
        AllReducePlan plan{.workers = {rings.front(), {workers}}, .by_rank = false};
        for (int i = 1; i < count; ++i)
          plan.copies.push_back({rings[static_cast<std::size_t>(i)], {workers}});
        all.push_back(std::move(plan));
      }
      if (count == 1) continue;
      for (const AllReducePlan& plan : plans)
        for (const auto& arrange : {&Planner::turned, &Planner::rotated}) {
          all.push_back(plan);
          for (int i = 1; i < count; ++i) all.back().copies.push_back(arrange(plan.workers, i, count));
          if (!platform_.known()) break;  // they cannot be compared
        }
    }
    return all;
  }

  /// Each group rotated, so that copy `number` of `count` begins with another participant.
  static Arrangement rotated(const Arrangement& first, int number, int count) {
    Arrangement copy = first;
    auto at = copy.order.begin();
    for (const int size : copy.groups) {
      std::rotate(at, at + static_cast<std::ptrdiff_t>(number) * size / count % size, at + size);
      at += size;
    }
    return copy;
  }
  /// Rotated, and every other copy in the opposite direction.
  static Arrangement turned(const Arrangement& first, int number, int count) {
    Arrangement copy = rotated(first, number, count);
    if (number % 2 == 0) return copy;
    std::reverse(copy.order.begin(), copy.order.end());
    std::reverse(copy.groups.begin(), copy.groups.end());
    return copy;
  }

  // ---- Prices ----

  double cost_of(const Copies& workers) {
    double sum = 0.0;
    for (const auto& [elements, count] : buckets_) sum += count * cheapest(elements, workers).second;
    return sum;
  }

  std::pair<std::string, double> cheapest(std::int64_t elements, const Copies& workers) {
    std::pair<std::string, double> best{names_.front(), never};
    for (const std::string& name : names_)
      if (const double price = price_of(name, elements, workers); price < best.second) best = {name, price};
    return best;
  }

  double price_of(const std::string& name, std::int64_t elements, const Copies& workers) {
    const auto make = collectives::catalog().find(name).make;
    std::vector<std::vector<int>> places;
    for (const Arrangement& copy : workers) {
      places.push_back(copy.order);
      if (collectives::takes_groups(make)) places.push_back(copy.groups);
    }
    const auto [found, fresh] =
        prices_.try_emplace(std::tuple(name, elements, reduces_, std::move(places)), 0.0);
    if (!fresh) return found->second;
    if (const auto many = workers.size() == 1 ? cost_of_many(make, elements, workers.front()) : std::nullopt)
      return found->second = many->time.count();
    const collectives::Schedules of = collectives::in_copies(make, workers);
    std::vector<collectives::Schedule> schedules;
    for (int worker = 0; worker < static_cast<int>(workers.front().order.size()); ++worker)
      schedules.push_back(of(worker, elements));
    const collectives::ReduceTime free = [](int, Bytes) { return Seconds(0.0); };
    found->second =
        collectives::price(schedules, element_size, network_, reduces_ ? setting_.reduce : free).count();
    return found->second;
  }

  /// Of many workers on equal links, all as slow as the slowest one.
  std::optional<collectives::ManyCost> cost_of_many(const collectives::MakeSchedule& make,
                                                    std::int64_t elements, const Arrangement& workers) const {
    const auto count = static_cast<int>(host_of_.size());
    if (!platform_.routes.empty() || count <= many_workers || workers.groups.size() != 1) return std::nullopt;
    const collectives::ReduceTime slowest = [this](int, Bytes size) { return slowest_reduce(size); };
    return collectives::cost_of_many(make, count, elements, [&](int few, std::int64_t of_few) {
      collectives::Network network = network_;
      network.host_of.assign(static_cast<std::size_t>(few), 0);
      const collectives::Schedules of = make.schedules(few);
      std::vector<collectives::Schedule> schedules;
      for (int self = 0; self < few; ++self) schedules.push_back(of(self, of_few));
      return collectives::price(schedules, element_size, network, slowest);
    });
  }
  Seconds slowest_reduce(Bytes size) const {
    Seconds slowest{0.0};
    if (!reduces_) return slowest;
    for (const int worker : setting_.unlike) slowest = std::max(slowest, setting_.reduce(worker, size));
    for (int worker = 0; setting_.unlike.empty() && worker < std::ssize(host_of_); ++worker)
      slowest = std::max(slowest, setting_.reduce(worker, size));
    return slowest;
  }

  const AllReduceSetting& setting_;
  const platforms::Network& platform_;
  std::vector<int> host_of_;  ///< by worker
  collectives::Network network_;
  std::vector<std::string> names_;       ///< collectives to choose from
  std::vector<std::int64_t> elements_;   ///< by bucket
  std::map<std::int64_t, int> buckets_;  ///< elements -> how many
  bool reduces_ = true;                  ///< prices include reductions
  std::map<std::tuple<std::string, std::int64_t, bool, std::vector<std::vector<int>>>, double> prices_;
};

std::string list_of(const std::vector<int>& groups) {
  std::string text;
  for (const int size : groups) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

}  // namespace

AllReduceGroup::AllReduceGroup(const AllReducePlan& plan, std::span<const int> members)
    : arrangement_(collectives::among(plan.workers, members)) {
  std::vector<collectives::Arrangement> copies = {arrangement_};
  for (const auto& copy : plan.copies) copies.push_back(collectives::among(copy, members));
  std::map<std::string, std::shared_ptr<const Collective>> made = {{native_all_reduce, nullptr}};
  for (const std::string& name : plan.collectives) {
    const auto [found, is_new] = made.try_emplace(name);
    if (is_new) {
      const auto make = collectives::catalog().find(name).make;
      found->second = std::make_shared<const Collective>(
          Collective{.all_reduce = collectives::in_copies(make, copies),
                     .gather = collectives::arranged(collectives::gather_of(make), arrangement_)});
    }
    collectives_.push_back(found->second);
  }
}

std::optional<collectives::Schedule> AllReduceGroup::schedule(std::size_t bucket, int self,
                                                              std::int64_t elements) const {
  const auto& collective = collectives_.at(bucket);
  if (collective == nullptr) return std::nullopt;
  return collective->all_reduce(self, elements);
}

std::optional<collectives::Schedule> AllReduceGroup::gather(std::size_t bucket, int self,
                                                            std::int64_t elements) const {
  const auto& collective = collectives_.at(bucket);
  if (collective == nullptr) return std::nullopt;
  return collective->gather(self, elements);
}

nlohmann::json to_json(const AllReducePlan& plan) {
  nlohmann::json document = {{"collectives", plan.collectives},
                             {"picked", plan.picked},
                             {"by_rank", plan.by_rank},
                             {"order", plan.workers.order},
                             {"groups", plan.workers.groups}};
  for (const auto& copy : plan.copies)
    document["copies"].push_back({{"order", copy.order}, {"groups", copy.groups}});
  return document;
}

AllReducePlan all_reduce_plan_from_json(const nlohmann::json& document) {
  AllReducePlan plan;
  document.at("collectives").get_to(plan.collectives);
  document.at("picked").get_to(plan.picked);
  document.at("by_rank").get_to(plan.by_rank);
  document.at("order").get_to(plan.workers.order);
  document.at("groups").get_to(plan.workers.groups);
  if (!document.contains("copies")) return plan;
  for (const auto& copy : document.at("copies"))
    plan.copies.push_back(
        {copy.at("order").get<std::vector<int>>(), copy.at("groups").get<std::vector<int>>()});
  return plan;
}

namespace {

void expect(bool holds, const std::string& expected) {
  if (!holds) throw ConfigError("all-reduce plan: expected " + expected);
}

void check_arrangement(const Arrangement& arrangement, std::size_t workers) {
  std::vector<int> by_index(workers);
  std::iota(by_index.begin(), by_index.end(), 0);
  const auto& [order, groups] = arrangement;
  expect(std::is_permutation(order.begin(), order.end(), by_index.begin(), by_index.end()),
         "an order that names each of " + std::to_string(workers) + " workers once");
  std::size_t grouped = 0;
  for (const int size : groups) {
    expect(size > 0 && static_cast<std::size_t>(size) <= workers - grouped,
           "groups that add up to the workers");
    grouped += static_cast<std::size_t>(size);
  }
  expect(grouped == workers, "groups that add up to the workers");
}

}  // namespace

void check_plan(const AllReducePlan& plan, std::size_t workers, std::size_t buckets) {
  check_arrangement(plan.workers, workers);
  for (const Arrangement& copy : plan.copies) check_arrangement(copy, workers);
  expect(plan.rings() <= most_rings, "at most " + std::to_string(most_rings) + " copies");
  const bool has_native = std::ranges::find(plan.collectives, native_all_reduce) != plan.collectives.end();
  expect(plan.copies.empty() || !has_native, "no copies of the library's own all-reduce");
  expect(plan.collectives.size() == buckets,
         "a collective for each of " + std::to_string(buckets) + " buckets");
  for (const std::string& name : plan.collectives)
    if (name != native_all_reduce) collectives::catalog().find(name);
}

std::string describe(const AllReducePlan& plan) {
  std::vector<std::pair<std::string, int>> counts;
  bool grouped = false;
  for (const std::string& name : plan.collectives) {
    const bool has_schedule = name != native_all_reduce;
    grouped = grouped || (has_schedule && collectives::takes_groups(collectives::catalog().find(name).make));
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == name; });
    if (known == counts.end())
      counts.emplace_back(name, 1);
    else
      ++known->second;
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? plan.picked ? "auto picked " : "" : " and ") + name;
    if (counts.size() > 1) text += " for " + std::to_string(count) + (count == 1 ? " bucket" : " buckets");
  }
  if (grouped) text += " in groups of " + list_of(plan.workers.groups);
  if (plan.rings() > 1) text += ", " + std::to_string(plan.rings()) + " rings";
  return text + (plan.by_rank ? ", workers by rank" : ", workers in the order of the network");
}

AllReducePlan plan_all_reduce(const AllReduceSetting& setting, const platforms::Network& network) {
  if (setting.collective == native_all_reduce) {
    AllReducePlan plan;
    plan.workers.order.resize(setting.hosts.size());
    std::iota(plan.workers.order.begin(), plan.workers.order.end(), 0);
    plan.workers.groups = {static_cast<int>(setting.hosts.size())};
    plan.collectives.assign(setting.bucket_elements.size(), native_all_reduce);
    return plan;
  }
  return Planner(setting, network).plan();
}

PricedPlan plan_and_price(const AllReduceSetting& setting, const platforms::Network& network) {
  Planner planner(setting, network);
  AllReducePlan plan = planner.plan();
  const double time = planner.price(plan);
  return {std::move(plan), Seconds(time)};
}

std::vector<Seconds> prices_alone(const AllReduceSetting& setting, const platforms::Network& network) {
  Planner planner(setting, network);
  std::vector<Seconds> prices;
  for (const std::int64_t elements : setting.bucket_elements) {
    planner.set_buckets({elements});
    const AllReducePlan plan = planner.plan();
    prices.emplace_back(planner.price(plan));
  }
  return prices;
}

}  // namespace tandem
