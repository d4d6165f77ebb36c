// How the workers of a job sum over an all-reduce: resolved once, before the job starts, and the same in both
// worlds.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "policies/collectives/schedule.hpp"

namespace tandem {

/// The collective that has no schedule: MPI's own on a cluster, and priced as a whole in a simulation.
inline constexpr const char* native_all_reduce = "native";
/// For each bucket, the schedule that costs least by the network.
inline constexpr const char* cheapest_all_reduce = "auto";

struct AllReducePlan {
  collectives::Arrangement workers = {};
  bool by_rank = true;                        ///< whether the workers act in the order of their ranks
  bool picked = false;                        ///< whether the collectives were left to be chosen
  std::vector<std::string> collectives = {};  ///< by bucket; of collectives::catalog(), or native_all_reduce
};

/// Workers that sum together by a plan. What their schedules have in common is computed once, so one group
/// serves all of its members.
class AllReduceGroup {
 public:
  /// `members`: workers, of which schedules name the indices.
  AllReduceGroup(const AllReducePlan& plan, std::span<const int> members);

  /// The schedule of member `self` for a bucket. None: the world's own all-reduce.
  std::optional<collectives::Schedule> schedule(std::size_t bucket, int self, std::int64_t elements) const;
  /// The schedule of an all-gather of so many elements of each, which stand in the order of `gathered`.
  collectives::Schedule gather(int self, std::int64_t elements) const { return gather_(self, elements); }
  const std::vector<int>& gathered() const { return arrangement_.order; }
  int size() const { return static_cast<int>(arrangement_.order.size()); }

 private:
  collectives::Arrangement arrangement_;
  /// By bucket; null for the world's own all-reduce.
  std::vector<std::shared_ptr<const collectives::Schedules>> schedules_;
  collectives::Schedules gather_;
};

nlohmann::json to_json(const AllReducePlan& plan);
AllReducePlan all_reduce_plan_from_json(const nlohmann::json& document);
/// "auto picked ring for 3 buckets and tree for 1, workers in the order of the network".
std::string describe(const AllReducePlan& plan);

/// What the plan depends on.
struct AllReduceSetting {
  std::string collective;          ///< of collectives::catalog(), native_all_reduce or cheapest_all_reduce
  bool by_rank = false;            ///< whether workers keep the order of their ranks
  std::vector<std::string> hosts;  ///< by worker
  std::vector<std::int64_t> bucket_elements;
  std::function<Seconds(int worker, Bytes size)> reduce;  ///< how long a worker sums
};

/// Of the orders of ranks and of the network, and of the groups that hosts or a level of the network make in
/// each, those with which the buckets together cost least (collectives::price on the network). The order of
/// ranks is one of them, and stays where none costs less: so no order is taken whose price is worse. With
/// "auto", each bucket takes the schedule that costs least there; never native_all_reduce, for which the
/// order of ranks stays. The platform's links hold, also where the simulation takes messages as a profile
/// measured them. Only the order of ranks and the groups of hosts are known where the network's routes are
/// not. Pre: `auto` knows the network, or at least its typical route.
AllReducePlan plan_all_reduce(const AllReduceSetting& setting, const platforms::Network& network);
/// What the buckets together cost by a plan for this setting. Pre: as for "auto"; each has a schedule.
Seconds price(const AllReducePlan& plan, const AllReduceSetting& setting, const platforms::Network& network);

}  // namespace tandem
