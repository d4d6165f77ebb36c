// Hoard (Pinto, Gkoufas, Reale, Seelam, Eliuk, arXiv:1812.00669, 2018). The data set is striped over the
// nodes by a hash of the sample's id and stays there. A node reads its stripe before the job or during the
// first epoch; nothing is evicted.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace {

class Hoard final : public CachePolicy {
 public:
  explicit Hoard(const Setting& setting)
      : setting_(setting),
        fills_before_(setting.options.text("fill") == "before"),
        kept_(setting.capacity()),
        shares_(setting.manifest.samples, setting.nodes) {
    std::vector<std::int16_t> owners(static_cast<std::size_t>(setting.manifest.samples));
    for (std::size_t id = 0; id < owners.size(); ++id)
      owners[id] = static_cast<std::int16_t>(
          Rng::stream(setting.seed, "stripe", id).below(static_cast<std::uint64_t>(setting.nodes)));
    shares_.set_owners(std::move(owners));
  }

  void on_job(const JobChange& change, Decisions& decisions) override {
    if (fills_before_ && change.state == JobChange::State::starts) fill(setting_.manifest.total(), decisions);
  }
  void on_idle(Bytes room, Decisions& decisions) override { fill(room, decisions); }

  void on_want(const Want& want, Decisions& decisions) override {
    // Caches are empty when a job begins, also when it is resumed in a later epoch.
    if (!first_epoch_) first_epoch_ = want.epoch;
    if (want.epoch > newest_epoch_) shares_.ask_again();
    newest_epoch_ = std::max(newest_epoch_, want.epoch);
    for (const auto& [id, size] : want.now) {
      const bool is_here = kept_.holds(id);
      // While the owner reads its stripe, it would not have most of the samples.
      const bool is_filled = fills_before_ || want.epoch > *first_epoch_;
      serve_from_owner(id, is_here, is_filled ? shares_.asked_for(id) : nobody, setting_.node, decisions);
      if (!is_here && shares_.owner_of(id) == setting_.node) kept_.keep(id, size, decisions);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
    shares_.note(arrived);
  }
  void on_peer(const PeerChange& change, Decisions&) override { shares_.note(change); }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  /// Reads samples of the own stripe that fit, at most `room` bytes.
  void fill(Bytes room, Decisions& decisions) {
    stripe_.clear();
    for (; next_ < setting_.manifest.samples; ++next_) {
      if (shares_.owner_of(next_) != setting_.node || kept_.holds(next_)) continue;
      const Bytes size = setting_.manifest.size_of(next_);
      if (size > room) break;
      if (!kept_.keep(next_, size, decisions)) continue;
      room = room - size;
      stripe_.push_back(next_);
    }
    if (!stripe_.empty()) decisions.read(stripe_, store(), Why::warm_up);
  }

  Setting setting_;
  bool fills_before_;
  Kept kept_;
  Shares shares_;
  std::optional<std::int64_t> first_epoch_;  ///< that the policy saw
  std::int64_t newest_epoch_ = 0;            ///< of which samples were wanted
  SampleId next_ = 0;                        ///< of the own stripe, to be read in the background
  std::vector<SampleId> stripe_;             ///< scratch
};

}  // namespace

Catalog<Factory>::Entry hoard() {
  return {
      .name = "hoard",
      .summary = "the data set is striped over the nodes by a hash of the id; nothing is evicted",
      .paper =
          "Pinto, Gkoufas, Reale, Seelam, Eliuk: Hoard: A Distributed Data Caching System to Accelerate Deep "
          "Learning Training on the Cloud. arXiv:1812.00669, 2018",
      .options = {{"fill",
                   "when a node reads its stripe: before the job, or in the background of the first epoch",
                   std::string("before"),
                   -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity(),
                   {"before", "first-epoch"}}},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<Hoard>(setting);
               },
               .needs = {.manifest = true, .peers = true, .idle = true}}};
}

}  // namespace tandem::cache
