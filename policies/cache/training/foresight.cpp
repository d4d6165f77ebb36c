// Foresight: importance with clairvoyance. When an epoch begins, all nodes know its list. A node keeps the
// samples that count most for later epochs. It reads the others in advance, in the order of their use.
// Samples of low importance come from packages that hold exactly those that it needs together. No sample is
// replaced by another one. Samples that are read in advance get the room of samples without further use in
// the epoch, so the cache loses no room. All nodes know all lists, so each knows what the others keep, and
// does not evict what others rely on; a directory may say it instead. Without losses, the same nodes keep
// the same samples throughout. A node that departs and comes back reads again what it keeps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/cache/training/shares.hpp"
#include "policies/cache/training/substitutes.hpp"

namespace tandem::cache {
namespace {

class Foresight final : public CachePolicy {
 public:
  explicit Foresight(const Setting& setting)
      : setting_(setting),
        package_(static_cast<std::size_t>(setting.options.integer("package"))),
        window_(static_cast<std::int64_t>(setting.options.real("window") *
                                          static_cast<double>(setting.capacity().count()))),
        kept_(setting.capacity()),
        is_lasting_(samples(), true),
        is_ahead_(samples()),
        holder_(samples(), nobody),
        keeper_(setting.nodes > 1 ? samples() : 0, nobody),
        planned_(static_cast<std::size_t>(setting.nodes)),
        is_away_(static_cast<std::size_t>(setting.nodes)),
        jobs_(static_cast<std::size_t>(setting.jobs)) {}

  /// The samples of highest loss that fit into all nodes together are kept for later epochs.
  void on_importance(int, std::span<const float> losses, Decisions&) override {
    order_.resize(samples());
    std::iota(order_.begin(), order_.end(), SampleId{0});
    const auto worth = [&](SampleId id) {
      const float loss = losses[index(id)];
      return std::isnan(loss) ? std::numeric_limits<float>::infinity() : loss;
    };
    std::ranges::sort(
        order_, [&](SampleId a, SampleId b) { return worth(a) != worth(b) ? worth(a) > worth(b) : a < b; });
    std::int64_t room = setting_.nodes * setting_.capacity().count();
    for (const SampleId id : order_) {
      room -= setting_.manifest.size_of(id).count();
      is_lasting_[index(id)] = room >= 0;
    }
  }

  void on_epoch(const EpochBegins& event, Decisions& decisions) override {
    Job& job = jobs_[static_cast<std::size_t>(event.job)];
    job.list = event.lists[static_cast<std::size_t>(setting_.node)];
    job.low.assign(event.low.begin(), event.low.end());
    job.taken = job.read = static_cast<std::size_t>(event.taken);
    wanted_by_.assign(samples(), 0);
    for (const auto& list : event.lists)
      for (const SampleId id : list) ++wanted_by_[index(id)];
    for (std::size_t i = 0; i < job.taken; ++i) --wanted_by_[index(job.list[i])];
    used_.clear();
    drop_useless(decisions);
    if (plans_keepers()) plan_keepers(event);
    find_missing(job);
    write_packages(job, decisions);
  }

  void on_want(const Want& want, Decisions& decisions) override {
    Job& job = jobs_[static_cast<std::size_t>(want.job)];
    for (const auto& [id, size] : want.now) {
      const bool is_here = kept_.holds(id);
      serve_from_owner(id, is_here, holder_[index(id)], setting_.node, decisions);
      if (wanted_by_[index(id)] > 0) --wanted_by_[index(id)];
      if (is_here)
        release(id, size, decisions);
      else if (may_keep(id) && kept_.keep(id, size, decisions))
        publish(id, decisions);
    }
    job.taken += want.now.size();
    job.read = std::max(job.read, job.taken);
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived) {
      if (read.outcome == Arrived::Outcome::here || !kept_.holds(read.id)) continue;
      remove(read.id, read.size, decisions);
    }
    forget_owners(holder_, arrived);
  }

  void on_directory(std::span<const Holder> holders, Decisions&) override {
    has_directory_ = true;
    for (const Holder& entry : holders) holder_[index(entry.id)] = static_cast<std::int16_t>(entry.node);
  }
  /// A node that joins has read its samples before the next epoch.
  void on_peer(const PeerChange& change, Decisions&) override {
    is_away_[static_cast<std::size_t>(change.node)] = !change.joins;
    forget_owner(holder_, change);
  }

  void on_idle(Bytes room, Decisions& decisions) override {
    read_missing(room, decisions);
    read_ahead(room, decisions);
  }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  struct Job {
    std::vector<SampleId> list;             ///< of this node, in order
    std::vector<std::uint8_t> low;          ///< by id; empty: all are H
    std::vector<std::uint32_t> package_of;  ///< by id, this epoch's; empty: no packages
    std::vector<std::vector<SampleId>> packages;
    std::size_t taken = 0;  ///< delivered
    std::size_t read = 0;   ///< read ahead, or known to be elsewhere
  };
  static constexpr std::uint32_t none = 0xffffffffU;

  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  std::size_t samples() const { return static_cast<std::size_t>(setting_.manifest.samples); }

  /// Reads ahead while the samples that were read and not used fit into the window.
  void read_ahead(Bytes room, Decisions& decisions) {
    for (Job& job : jobs_)
      for (; job.read < job.list.size(); ++job.read) {
        const SampleId id = job.list[job.read];
        if (kept_.holds(id) || holder_[index(id)] != nobody) continue;
        unit_.clear();
        collect(job, id);
        Bytes size{0};
        for (const SampleId each : unit_) size += setting_.manifest.size_of(each);
        if (size > room || ahead_ + size.count() > window_ || !make_room(size, decisions)) return;
        for (const SampleId each : unit_) {
          kept_.keep(each, setting_.manifest.size_of(each), decisions);
          is_ahead_[index(each)] = true;
        }
        ahead_ += size.count();
        room = room - size;
        decisions.read(unit_, store(), unit_.size() > 1 ? Why::package : Why::prefetch);
      }
  }

  /// Finds the samples that this node keeps for others and does not have: it has come back, or never got
  /// them in an epoch. Samples that it uses itself in this epoch come with their use.
  void find_missing(const Job& job) {
    missing_.clear();
    if (!plans_keepers()) return;
    std::vector<bool> is_wanted(samples());
    for (std::size_t i = job.taken; i < job.list.size(); ++i) is_wanted[index(job.list[i])] = true;
    for (SampleId id = 0; id < setting_.manifest.samples; ++id)
      if (keeper_[index(id)] == setting_.node && !is_wanted[index(id)] && !kept_.holds(id))
        missing_.push_back(id);
  }
  void read_missing(Bytes& room, Decisions& decisions) {
    for (; !missing_.empty(); missing_.pop_back()) {
      const SampleId id = missing_.back();
      const Bytes size = setting_.manifest.size_of(id);
      if (kept_.holds(id)) continue;
      if (size > room || !kept_.keep(id, size, decisions)) return;
      room = room - size;
      publish(id, decisions);
      decisions.read(id, store(), Why::warm_up);
    }
  }

  /// Samples that are not kept for a later epoch and are on no list leave now.
  void drop_useless(Decisions& decisions) {
    for (SampleId id = 0; id < setting_.manifest.samples; ++id)
      if (kept_.holds(id) && !is_lasting_[index(id)] && wanted_by_[index(id)] == 0)
        remove(id, setting_.manifest.size_of(id), decisions);
  }

  bool plans_keepers() const { return setting_.nodes > 1 && !has_directory_; }

  /// Plans which node keeps which samples after this epoch: in the order of its list, samples that it uses,
  /// that no node keeps and that fit. In this epoch, the samples that were planned before are there.
  void plan_keepers(const EpochBegins& event) {
    for (std::size_t id = 0; id < keeper_.size(); ++id) {
      const std::int16_t keeper = keeper_[id];
      const bool is_asked =
          keeper != nobody && keeper != setting_.node && !is_away_[static_cast<std::size_t>(keeper)];
      holder_[id] = is_asked ? keeper : nobody;
      if (keeper != nobody && !is_lasting_[id] && wanted_by_[id] == 0) give_up(id);
    }
    for (std::size_t node = 0; node < event.lists.size(); ++node)
      for (const SampleId sample : event.lists[node]) {
        const std::size_t id = index(sample);
        const std::int64_t size = setting_.manifest.size_of(sample).count();
        if (keeper_[id] == static_cast<std::int16_t>(node) && !is_lasting_[id] && wanted_by_[id] == 1)
          give_up(id);
        if (keeper_[id] != nobody || !is_lasting_[id]) continue;
        if (planned_[node] + size > setting_.capacity().count()) continue;
        planned_[node] += size;
        keeper_[id] = static_cast<std::int16_t>(node);
      }
  }
  void give_up(std::size_t id) {
    planned_[static_cast<std::size_t>(keeper_[id])] -=
        setting_.manifest.size_of(static_cast<SampleId>(id)).count();
    keeper_[id] = nobody;
  }

  /// The samples of low importance that this node must read, in the order of their use.
  void write_packages(Job& job, Decisions& decisions) {
    job.packages.clear();
    job.package_of.assign(job.low.empty() || package_ < 2 ? 0 : samples(), none);
    if (job.package_of.empty()) return;
    for (const SampleId id : job.list) {
      const bool is_read = !kept_.holds(id) && holder_[index(id)] == nobody;
      if (job.low[index(id)] == 0 || !is_read || job.package_of[index(id)] != none) continue;
      if (job.packages.empty() || job.packages.back().size() == package_) job.packages.emplace_back();
      job.packages.back().push_back(id);
      job.package_of[index(id)] = static_cast<std::uint32_t>(job.packages.size() - 1);
    }
    for (const auto& package : job.packages) decisions.write_package(package);
  }

  /// Collects the samples that are read together with a sample: its package, or the sample alone.
  void collect(const Job& job, SampleId id) {
    if (job.package_of.empty() || job.package_of[index(id)] == none) {
      unit_.push_back(id);
      return;
    }
    for (const SampleId each : job.packages[job.package_of[index(id)]])
      if (!kept_.holds(each)) unit_.push_back(each);
  }

  /// After its use in this epoch, a sample stays only if it is kept for later ones.
  void release(SampleId id, Bytes size, Decisions& decisions) {
    if (is_ahead_[index(id)]) {
      is_ahead_[index(id)] = false;
      ahead_ -= size.count();
      if (!may_keep(id)) return kept_.drop(id, size, decisions);
      return publish(id, decisions);
    }
    if (wanted_by_[index(id)] > 0) return;
    if (is_lasting_[index(id)])
      used_.push(id);
    else
      remove(id, size, decisions);
  }
  /// Whether the sample may be kept for later epochs.
  bool may_keep(SampleId id) const {
    if (!is_lasting_[index(id)]) return false;
    return plans_keepers() ? keeper_[index(id)] == setting_.node : holder_[index(id)] == nobody;
  }
  void publish(SampleId id, Decisions& decisions) {
    if (setting_.nodes > 1) decisions.published.push_back(id);
    if (wanted_by_[index(id)] == 0) used_.push(id);
  }
  /// Evicts samples that were used, the first ones first, but not those on which other nodes rely.
  bool make_room(Bytes size, Decisions& decisions) {
    if (plans_keepers()) return size <= kept_.room();
    while (size > kept_.room()) {
      if (used_.empty()) return false;
      const SampleId id = used_.front();
      used_.pop();
      if (kept_.holds(id) && !is_ahead_[index(id)]) remove(id, setting_.manifest.size_of(id), decisions);
    }
    return true;
  }
  void remove(SampleId id, Bytes size, Decisions& decisions) {
    kept_.drop(id, size, decisions);
    if (is_ahead_[index(id)]) {
      is_ahead_[index(id)] = false;
      ahead_ -= size.count();
    } else if (setting_.nodes > 1) {
      decisions.withdrawn.push_back(id);
    }
  }

  Setting setting_;
  std::size_t package_;
  std::int64_t window_;  ///< bytes for samples that were read ahead
  Kept kept_;
  std::vector<bool> is_lasting_;         ///< by id: kept for later epochs
  std::vector<bool> is_ahead_;           ///< by id: was read ahead and not used
  std::int64_t ahead_ = 0;               ///< bytes of those
  std::vector<std::int16_t> holder_;     ///< by id: another node that keeps it
  std::vector<std::int16_t> keeper_;     ///< by id: the node that keeps it after this epoch; empty: one node
  std::vector<std::int64_t> planned_;    ///< by node: bytes of samples with a keeper
  std::vector<bool> is_away_;            ///< by node
  std::vector<SampleId> missing_;        ///< see find_missing
  bool has_directory_ = false;           ///< a directory says which node keeps what
  std::vector<std::uint8_t> wanted_by_;  ///< by id: remaining uses in this epoch, by all nodes
  IdQueue used_;                         ///< kept for later epochs, without further use in this one
  std::vector<Job> jobs_;
  std::vector<SampleId> order_;  ///< scratch, as the next one
  std::vector<SampleId> unit_;
};

}  // namespace

Catalog<Factory>::Entry foresight() {
  return {
      .name = "foresight",
      .summary =
          "importance with clairvoyance: keeps what counts most for later epochs and reads the rest of the "
          "epoch's known list ahead; nothing is substituted",
      .paper = "",
      .options = {{"window", "share of the capacity for samples that are read ahead", 0.1, 0.0, 1.0},
                  {"package",
                   "samples of low importance in a package, which is written when the epoch begins; 1: no "
                   "packages",
                   std::int64_t{32}, 1, 1e6}},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<Foresight>(setting);
               },
               .needs = {.manifest = true, .lists = true, .peers = true, .idle = true},
               .plans_one_job = true}};
}

}  // namespace tandem::cache
