// DeepIO (Zhu, Chowdhury, Fu, Moody, Mohror, Sato, Yu, MASCOTS 2018). The data set is divided among the
// memories of the nodes before training. In ordered mode a sample comes from its owner, or else from the
// store. In opportunistic mode batches consist of samples that are in memory. So no batch waits for the
// store, but samples that fit nowhere are never delivered. The paper's quota by cross-entropy is not
// included.
#include <limits>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"

namespace tandem::cache {
namespace {

class DeepIo final : public CachePolicy {
 public:
  explicit DeepIo(const Setting& setting)
      : setting_(setting),
        is_opportunistic_(setting.options.text("order") == "opportunistic"),
        kept_(setting.capacity()),
        owners_(static_cast<std::size_t>(setting.manifest.samples), nobody),
        delivered_in_(static_cast<std::size_t>(setting.jobs), std::vector<std::uint32_t>(owners_.size())),
        next_(static_cast<std::size_t>(setting.jobs)) {
    const auto samples = setting.manifest.samples;
    for (int node = 0; node < setting.nodes; ++node) {
      Bytes used{0};
      for (SampleId id = samples * node / setting.nodes; id < samples * (node + 1) / setting.nodes; ++id) {
        if (used + setting.manifest.size_of(id) > setting.capacity()) break;
        used += setting.manifest.size_of(id);
        owners_[static_cast<std::size_t>(id)] = static_cast<std::int16_t>(node);
        if (node == setting.node) own_.push_back(id);
      }
    }
  }

  void on_job(const JobChange& change, Decisions& decisions) override {
    if (change.state != JobChange::State::starts || kept_.count() > 0 || own_.empty()) return;
    for (const SampleId id : own_) kept_.keep(id, setting_.manifest.size_of(id), decisions);
    decisions.read(own_, store(), Why::warm_up);
  }

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [asked, size] : want.now) {
      const SampleId given = is_opportunistic_ ? resident_for(want, asked) : asked;
      serve_from_owner(given, kept_.holds(given), owners_[static_cast<std::size_t>(given)], setting_.node,
                       decisions);
      decisions.serve.back().asked = asked;
      delivered_in_[static_cast<std::size_t>(want.job)][static_cast<std::size_t>(given)] = stamp(want);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
    forget_owners(owners_, arrived);
  }
  void on_peer(const PeerChange& change, Decisions&) override { forget_owner(owners_, change); }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  static std::uint32_t stamp(const Want& want) { return static_cast<std::uint32_t>(want.epoch + 1); }

  /// The wanted sample, if this node has it and has not delivered it in this epoch. Otherwise its next
  /// sample that was not delivered. When all were delivered, the next one.
  SampleId resident_for(const Want& want, SampleId asked) {
    const auto& delivered = delivered_in_[static_cast<std::size_t>(want.job)];
    const auto is_due = [&](SampleId id) { return delivered[static_cast<std::size_t>(id)] != stamp(want); };
    if (own_.empty() || (kept_.holds(asked) && is_due(asked))) return asked;
    std::size_t& next = next_[static_cast<std::size_t>(want.job)];
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const SampleId id = own_[(next + i) % own_.size()];
      if (!is_due(id)) continue;
      next = (next + i + 1) % own_.size();
      return id;
    }
    const SampleId id = own_[next];
    next = (next + 1) % own_.size();
    return id;
  }

  Setting setting_;
  bool is_opportunistic_;
  Kept kept_;
  std::vector<std::int16_t> owners_;                      ///< by id; `nobody`: the sample fits nowhere
  std::vector<SampleId> own_;                             ///< of this node
  std::vector<std::vector<std::uint32_t>> delivered_in_;  ///< by job and id: the last epoch + 1
  std::vector<std::size_t> next_;                         ///< by job, in own_
};

}  // namespace

Catalog<Factory>::Entry deepio() {
  return {
      .name = "deepio",
      .summary = "the data set is divided among the memories of the nodes before training",
      .paper =
          "Zhu, Chowdhury, Fu, Moody, Mohror, Sato, Yu: Entropy-Aware I/O Pipelining for Large-Scale Deep "
          "Learning on HPC Systems. MASCOTS 2018",
      .options = {{"order",
                   "ordered: the wanted sample, from its owner or the store; opportunistic: only samples "
                   "that this node has in memory, without those that fit nowhere",
                   std::string("ordered"),
                   -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity(),
                   {"ordered", "opportunistic"}}},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<DeepIo>(setting);
               },
               .needs = {.manifest = true, .peers = true, .idle = true},
               .replaces = true}};
}

}  // namespace tandem::cache
