// Partitioned MinIO (Mohan, Phanishayee, Raniwala, Chidambaram, PVLDB 14(5), 2021). Each node keeps the
// first samples of its own first list that fit, and never evicts them. All nodes know the lists, so each
// knows which node keeps what without messages, and reads from that node instead of the store. The shares
// stay when nodes depart: a node that is back reads its share again.
#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace {

class PartitionedMinio final : public CachePolicy {
 public:
  explicit PartitionedMinio(const Setting& setting)
      : setting_(setting), kept_(setting.capacity()), shares_(setting.manifest.samples, setting.nodes) {}

  void on_epoch(const EpochBegins& event, Decisions&) override {
    if (has_owners_) {
      first_epoch_ended_ = true;
      shares_.ask_again();
      return;
    }
    shares_.set_owners(owners_by_first_use(event.lists, setting_.manifest, setting_.capacity()));
    has_owners_ = true;
  }

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      const bool is_here = kept_.holds(id);
      serve_from_owner(id, is_here, shares_.asked_for(id), setting_.node, decisions);
      if (!is_here && shares_.owner_of(id) == setting_.node) kept_.keep(id, size, decisions);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
    shares_.note(arrived);
  }

  void on_peer(const PeerChange& change, Decisions&) override { shares_.note(change); }

  /// The samples that this node keeps are here when the first epoch has ended. A node that has begun later
  /// reads them. Free room is filled with copies of other nodes' samples, in this node's own order.
  void on_idle(Bytes room, Decisions& decisions) override {
    if (!first_epoch_ended_) return;
    for (; next_own_ < setting_.manifest.samples; ++next_own_) {
      if (shares_.owner_of(next_own_) != setting_.node || kept_.holds(next_own_)) continue;
      const Bytes size = setting_.manifest.size_of(next_own_);
      if (size > room || !kept_.keep(next_own_, size, decisions)) return;
      room = room - size;
      decisions.read(next_own_, store(), Why::warm_up);
    }
    if (copies_.empty()) {
      for (SampleId id = 0; id < setting_.manifest.samples; ++id) copies_.push_back(id);
      Rng::stream(setting_.seed, "copies", static_cast<std::uint64_t>(setting_.node)).shuffle(copies_);
    }
    for (; next_copy_ < copies_.size(); ++next_copy_) {
      const SampleId id = copies_[next_copy_];
      const int owner = shares_.asked_for(id);
      if (owner == nobody || owner == setting_.node || kept_.holds(id)) continue;
      const Bytes size = setting_.manifest.size_of(id);
      if (size > room || !kept_.keep(id, size, decisions)) return;
      room = room - size;
      decisions.read(id, peer(owner), Why::refill);
    }
  }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  Setting setting_;
  Kept kept_;
  Shares shares_;
  bool has_owners_ = false;
  bool first_epoch_ended_ = false;
  SampleId next_own_ = 0;
  std::vector<SampleId> copies_;  ///< candidates for the free room
  std::size_t next_copy_ = 0;
};

}  // namespace

Catalog<Factory>::Entry partitioned_minio() {
  return {.name = "partitioned-minio",
          .summary =
              "each node keeps the first samples of its first list that fit, for ever, and reads from the "
              "others what they keep",
          .paper =
              "Mohan, Phanishayee, Raniwala, Chidambaram: Analyzing and Mitigating Data Stalls in DNN "
              "Training. PVLDB 14(5), 2021",
          .options = {},
          .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                     return std::make_unique<PartitionedMinio>(setting);
                   },
                   .needs = {.manifest = true, .lists = true, .peers = true, .idle = true}}};
}

}  // namespace tandem::cache
