// How the workers of a job sum over an all-reduce: resolved once, before the job starts, and the same in
// simulation and real run.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "policies/collectives/schedule.hpp"

namespace tandem {

/// The collective without a schedule: the library's own in a real run, one operation with a predicted time
/// in a simulation.
inline constexpr const char* native_all_reduce = "native";
/// The collective that moves the fewest bytes, and uses all links all the time.
inline constexpr const char* ring_collective = "ring";
/// For each bucket, the schedule with the lowest predicted time.
inline constexpr const char* cheapest_all_reduce = "auto";

struct AllReducePlan {
  collectives::Arrangement workers = {};
  bool by_rank = true;                        ///< whether the workers act in the order of their ranks
  bool picked = false;                        ///< whether the collectives were left to be chosen
  std::vector<std::string> collectives = {};  ///< by bucket; of collectives::catalog(), or native_all_reduce
  /// Arrangements of further copies of each collective (collectives::in_copies): each works on an equal part
  /// of a bucket, over other links. Empty: one copy, on the whole bucket.
  std::vector<collectives::Arrangement> copies = {};
  int rings() const { return 1 + static_cast<int>(copies.size()); }
};

/// Workers that sum together by a plan. The data that their schedules share is computed once, so all members
/// should use one group object.
class AllReduceGroup {
 public:
  /// `members`: the workers; schedules contain indices into this list.
  AllReduceGroup(const AllReducePlan& plan, std::span<const int> members);

  /// The schedule of member `self` for a bucket. None: the library's own all-reduce.
  std::optional<collectives::Schedule> schedule(std::size_t bucket, int self, std::int64_t elements) const;
  /// The schedule of an all-gather of `elements` elements of each member, stored in the order of `gathered`.
  /// None: the library's own all-gather, which stores them in the order of members.
  std::optional<collectives::Schedule> gather(std::size_t bucket, int self, std::int64_t elements) const;
  const std::vector<int>& gathered() const { return arrangement_.order; }
  int size() const { return static_cast<int>(arrangement_.order.size()); }

 private:
  struct Collective {
    collectives::Schedules all_reduce;
    collectives::Schedules gather;
  };
  collectives::Arrangement arrangement_;  ///< of the first copy
  /// By bucket; null for the library's own.
  std::vector<std::shared_ptr<const Collective>> collectives_;
};

nlohmann::json to_json(const AllReducePlan& plan);
AllReducePlan all_reduce_plan_from_json(const nlohmann::json& document);
/// Errors: ConfigError if the plan does not fit this number of workers and buckets: the order does not name
/// each worker once, the groups do not add up to the workers, a collective does not exist or is missing for a
/// bucket, or there are copies of the library's own.
void check_plan(const AllReducePlan& plan, std::size_t workers, std::size_t buckets);
/// "auto picked ring for 3 buckets and tree for 1, 2 rings, workers in the order of the network".
std::string describe(const AllReducePlan& plan);

/// Everything on which the plan depends.
struct AllReduceSetting {
  std::string collective;          ///< of collectives::catalog(), native_all_reduce or cheapest_all_reduce
  bool by_rank = false;            ///< whether workers keep the order of their ranks
  std::vector<std::string> hosts;  ///< by worker
  std::vector<std::int64_t> bucket_elements;
  std::function<Seconds(int worker, Bytes size)> reduce;  ///< time in which a worker sums
  int rings = 1;                                          ///< copies of the collective; 0: as many as pay
  std::vector<int> unlike = {};  ///< workers, of which each other one sums as fast as one; empty: all
};
/// Most copies of a collective.
inline constexpr int most_rings = 16;

/// Chooses the order of the workers and their groups for which the buckets together have the lowest predicted
/// time (collectives::price on the network). Candidates are the order of ranks and the orders of the network,
/// each with the groups that hosts or a level of the network form. The order of ranks is kept unless another
/// order is faster. With "auto", each bucket gets the schedule with the lowest predicted time; never
/// native_all_reduce. With native_all_reduce the order of ranks is kept. Candidates for several copies are
/// rings over different links, the order and its reverse, and rotations of it (trees with other roots).
/// `rings` 0 takes more copies only if they save a hundredth of the time of transfers, without reductions:
/// copies are for links. Prices use the platform's links,
/// even if the simulation uses a measured profile. If the routes of the network are unknown, only the order
/// of ranks and the groups of hosts are candidates. Pre: for "auto", the network is known, or at least its
/// typical route.
AllReducePlan plan_all_reduce(const AllReduceSetting& setting, const platforms::Network& network);
struct PricedPlan {
  AllReducePlan plan;
  Seconds time;  ///< predicted, of all buckets together
};
/// The same with its price. Pre: as for "auto"; not native_all_reduce.
PricedPlan plan_and_price(const AllReduceSetting& setting, const platforms::Network& network);
/// Workers of whom not all schedules are made where links are equal: they are too many.
inline constexpr int many_workers = 2048;
/// By bucket, the time of plan_and_price() if it were the only one.
std::vector<Seconds> prices_alone(const AllReduceSetting& setting, const platforms::Network& network);

}  // namespace tandem
