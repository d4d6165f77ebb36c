// Locality-aware loading (Yang, Cong, HiPC 2019). Each node keeps the samples of its first list that fit.
// The samples of a step's batches are divided again: each node delivers those that it keeps, and the rest is
// dealt to the nodes that have too few. The samples of a step stay the same; only the nodes that deliver
// them change.
#include <algorithm>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"

namespace tandem::cache {
namespace {

class LocalityAware final : public CachePolicy {
 public:
  explicit LocalityAware(const Setting& setting)
      : setting_(setting), kept_(setting.capacity()), jobs_(static_cast<std::size_t>(setting.jobs)) {}

  void on_epoch(const EpochBegins& event, Decisions&) override {
    if (owners_.empty()) {
      owners_ = owners_by_first_use(event.lists, setting_.manifest, setting_.capacity());
      first_epoch_ = event.epoch;
    }
    Progress& job = jobs_[static_cast<std::size_t>(event.job)];
    job.lists.assign(event.lists.begin(), event.lists.end());
    job.taken = 0;
    // Caches are empty when a job begins, also when it is resumed in a later epoch.
    is_first_ = event.epoch == first_epoch_;
  }

  void on_want(const Want& want, Decisions& decisions) override {
    Progress& job = jobs_[static_cast<std::size_t>(want.job)];
    assign(job, want.now.size());
    for (std::size_t i = 0; i < want.now.size(); ++i) {
      const SampleId asked = want.now[i].id, given = mine_[i];
      const bool is_here = kept_.holds(given);
      serve_from_owner(given, is_here, is_first_ ? nobody : owners_[static_cast<std::size_t>(given)],
                       setting_.node, decisions);
      decisions.serve.back().asked = asked;
      decisions.serve.back().swapped = asked != given;
      if (!is_here && owners_[static_cast<std::size_t>(given)] == setting_.node)
        kept_.keep(given, setting_.manifest.size_of(given), decisions);
    }
    job.taken += want.now.size();
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
    forget_owners(owners_, arrived);
  }
  void on_peer(const PeerChange& change, Decisions&) override { forget_owner(owners_, change); }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  struct Progress {
    std::vector<std::vector<SampleId>> lists;  ///< of the epoch, by node
    std::size_t taken = 0;                     ///< of each list
  };

  /// This node's samples of a step with `batch` samples per node. Every node computes the same division.
  void assign(const Progress& job, std::size_t batch) {
    const auto nodes = job.lists.size();
    counts_.assign(nodes, 0);
    mine_.clear();
    left_.clear();
    const auto deal = [&](SampleId id, std::size_t node) {
      ++counts_[node];
      if (static_cast<int>(node) == setting_.node) mine_.push_back(id);
    };
    // Nodes without workers take no part.
    for (const auto& list : job.lists)
      for (std::size_t i = job.taken; i < std::min(list.size(), job.taken + batch); ++i) {
        const int owner = owners_[static_cast<std::size_t>(list[i])];
        if (owner != nobody && counts_[static_cast<std::size_t>(owner)] < batch)
          deal(list[i], static_cast<std::size_t>(owner));
        else
          left_.push_back(list[i]);
      }
    std::size_t node = 0;
    for (const SampleId id : left_) {
      while (counts_[node] == batch || job.lists[node].empty()) ++node;
      deal(id, node);
    }
  }

  Setting setting_;
  Kept kept_;
  std::vector<std::int16_t> owners_;  ///< by id
  std::vector<Progress> jobs_;
  std::int64_t first_epoch_ = 0;     ///< that the policy saw
  bool is_first_ = true;             ///< epoch
  std::vector<std::size_t> counts_;  ///< scratch, as the next two
  std::vector<SampleId> mine_;
  std::vector<SampleId> left_;
};

}  // namespace

Catalog<Factory>::Entry locality_aware() {
  return {.name = "locality-aware",
          .summary =
              "the samples of a step are divided among the nodes by what each keeps; what is left over is "
              "dealt evenly",
          .paper = "Yang, Cong: Accelerating Data Loading in Deep Neural Network Training. HiPC 2019",
          .options = {},
          .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                     return std::make_unique<LocalityAware>(setting);
                   },
                   .needs = {.manifest = true, .lists = true, .peers = true},
                   .replaces = true,
                   .plans_one_job = true,
                   .deals_steps = true}};
}

}  // namespace tandem::cache
