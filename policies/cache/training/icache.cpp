// iCache (Chen, He, Xu, Zhang, Yang, Hu, Sun, Chen, HPCA 2023). The cache has two parts. The H-cache keeps
// the samples of highest importance (loss). The L-cache is refilled in the background from packages of
// samples of low importance. A wanted sample of low importance is replaced by one that is there.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/importance_heap.hpp"
#include "policies/cache/training/job_importance.hpp"
#include "policies/cache/training/known_holders.hpp"
#include "policies/cache/training/low_deal.hpp"
#include "policies/cache/training/on_the_way.hpp"
#include "policies/cache/training/packages.hpp"
#include "policies/cache/training/substitutes.hpp"

namespace tandem::cache {
namespace {

Substitution substitution_of(const std::string& name) {
  if (name == "off") return Substitution::off;
  if (name == "any") return Substitution::any;
  return name == "same-class" ? Substitution::same_class : Substitution::nearest;
}

/// The epoch in progress of one job.
struct JobView {
  bool is_active = false;
  double benefit = 1.0;
  double boost = 1.0;           ///< factor on the benefit for a fair share
  std::vector<bool> low;        ///< by id: this node delivers it as one of low importance; empty: all are H
  std::vector<bool> high;       ///< by id: of high importance when it was listed last; empty: none was
  std::vector<bool> delivered;  ///< by id: in this epoch
  std::vector<IdQueue> left;    ///< by group: those of `low`; some may be delivered
  std::vector<float> relative;  ///< importance by id, in [0, 1]; only with several jobs
  std::int64_t high_hits = 0;   ///< in this epoch
  std::int64_t low_wanted = 0;
  std::int64_t low_on_demand = 0;

  /// It will deliver it as a sample of low importance.
  bool wants_low(SampleId id) const {
    const auto index = static_cast<std::size_t>(id);
    return is_active && !low.empty() && low[index] && !delivered[index];
  }
  /// Also one that this epoch does not list.
  bool may_want_low(SampleId id) const {
    return is_active && !high.empty() && !high[static_cast<std::size_t>(id)];
  }
  /// A sample that is not listed remains what it was.
  void note_high(const EpochBegins& event, std::size_t samples) {
    if (high.empty() || event.lists.empty()) high.assign(samples, true);
    for (std::size_t i = 0; i < samples; ++i)
      if (event.low[i] != 0) high[i] = false;
    for (const auto& list : event.lists)
      for (const SampleId id : list)
        if (const auto i = static_cast<std::size_t>(id); event.low[i] == 0) high[i] = true;
  }
  SampleId next_left(std::size_t group) {
    IdQueue& queue = left[group];
    while (!queue.empty() && !wants_low(queue.front())) queue.pop();
    return queue.empty() ? SampleId{-1} : queue.front();
  }
};

class ICache final : public CachePolicy {
 public:
  explicit ICache(const Setting& setting)
      : setting_(setting),
        mode_(substitution_of(setting.options.text("substitution"))),
        adapts_(setting.options.boolean("adapt")),
        deals_(mode_ != Substitution::off && setting.options.real("split") < 1.0),
        fair_share_(setting.options.real("fair_share")),
        package_(setting.options.integer("package")),
        largest_(largest_of(setting.manifest)),
        unvisited_(static_cast<float>(setting.options.real("unvisited"))),
        high_(setting.manifest.samples, unvisited_),
        packages_(setting.manifest.samples, package_, setting.options.real("repack"),
                  setting.seed + static_cast<std::uint64_t>(setting.node)),
        substitutes_(mode_, setting.manifest),
        on_the_way_(samples()),
        others_(setting),
        is_low_(samples()),
        jobs_(static_cast<std::size_t>(setting.jobs)) {
    for (JobView& job : jobs_) job.delivered.resize(samples());
    set_split(setting.options.real("split"));
    check();
  }

  void on_want(const Want& want, Decisions& decisions) override {
    high_.advance(visited_per_request * want.now.size());
    JobView& job = jobs_[static_cast<std::size_t>(want.job)];
    job.is_active = true;
    for (std::size_t i = 0; i < want.now.size(); ++i) {
      const SampleId asked = want.now[i].id;
      const bool low = !want.low.empty() && want.low[i] != 0;
      const SampleId given = low ? serve_low(job, asked, decisions) : serve_high(job, asked, decisions);
      job.delivered[index(given)] = true;
      if (is_low_[index(given)] && !is_needed(given)) drop_low(given, decisions);
    }
    others_.end_request([this](SampleId id) { return high_.holds(id); }, decisions);
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived) {
      if (read.outcome != Arrived::Outcome::here)
        forget(read, decisions);
      else if (high_.holds(read.id))
        others_.note_arrived(read.id, decisions);
      // Also one that a batch of another job was already reading.
      on_the_way_.remove(read.id, read.size.count());
      if (read.why != Why::package) continue;
      if (read.outcome == Arrived::Outcome::here && is_needed(read.id)) keep_low(read, decisions);
    }
  }

  void on_epoch(const EpochBegins& event, Decisions& decisions) override {
    JobView& job = jobs_[static_cast<std::size_t>(event.job)];
    end_epoch(job);
    while (high_used_ > high_capacity_) drop_high(high_.least(), decisions);
    job.is_active = true;
    job.delivered.assign(samples(), false);
    note_low(job, event);
    drop_unneeded(decisions);
    packages_.begin_epoch(event.epoch);
  }

  void on_importance(int number, std::span<const float> losses, Decisions&) override {
    values_.assign(losses.begin(), losses.end());
    for (float& value : values_)
      if (std::isnan(value)) value = unvisited_;
    JobView& job = jobs_[static_cast<std::size_t>(number)];
    job.is_active = true;
    if (jobs_.size() > 1) aggregate(job);
    high_.renew(std::exchange(values_, {}));
  }

  void on_job(const JobChange& change, Decisions&) override {
    JobView& job = jobs_[static_cast<std::size_t>(change.job)];
    job.is_active = change.state != JobChange::State::ends;
    if (change.state == JobChange::State::probed) job.benefit = change.benefit;
    if (!job.is_active) job.relative.clear();
  }

  void on_peer(const PeerChange& change, Decisions&) override { others_.note(change); }
  void on_directory(std::span<const Holder> holders, Decisions&) override { others_.note(holders); }

  void on_idle(Bytes room, Decisions& decisions) override {
    // An epoch of all samples has none of low importance, and says nothing about the packages.
    if (std::ranges::all_of(jobs_, [](const JobView& job) { return !job.is_active || job.low.empty(); }))
      return;
    std::int64_t left = room.count();
    const auto in_set = [this](SampleId id) {
      return std::ranges::any_of(jobs_, [id](const JobView& job) { return job.may_want_low(id); });
    };
    const auto wants = [this](SampleId id) { return is_needed(id) && !holds(id); };
    while (left >= package_bytes() && low_used_ + on_the_way_.bytes() + package_bytes() <= low_capacity_) {
      const auto ids = packages_.next(visited_per_package, in_set, wants, decisions);
      if (ids.empty()) return;
      for (const SampleId id : ids)
        if (wants(id)) on_the_way_.add(id, size_of(id));
      left -= package_bytes();
      decisions.read(ids, store(), Why::package);
    }
  }

  bool holds(SampleId id) const override { return high_.holds(id) || is_low_[index(id)]; }
  Bytes used(int tier) const override { return Bytes(tier == 0 ? high_used_ + low_used_ : 0); }

 private:
  static constexpr std::size_t visited_per_request = 16;       ///< samples for the next heap
  static constexpr std::size_t visited_per_package = 1 << 12;  ///< samples, to find or write one

  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  std::size_t samples() const { return static_cast<std::size_t>(setting_.manifest.samples); }
  std::int64_t size_of(SampleId id) const { return setting_.manifest.size_of(id).count(); }
  void check() const {
    if (mode_ == Substitution::same_class && setting_.manifest.labels.empty())
      throw OptionError("icache", "substitution",
                        "off, any or nearest where the classes of samples are not known", "same-class");
    if (low_capacity_ > 0 && package_bytes() > low_capacity_)
      throw OptionError("icache", "package",
                        "at most " + std::to_string(low_capacity_ / largest_) +
                            " samples, which fit into the L-cache of " + std::to_string(low_capacity_) +
                            " bytes (capacity times 1 - split)",
                        package_);
  }
  std::int64_t package_bytes() const { return package_ * largest_; }
  static std::int64_t largest_of(const Manifest& manifest) {
    return (manifest.sizes.empty() ? manifest.each : std::ranges::max(manifest.sizes)).count();
  }
  std::size_t groups() const {
    if (mode_ != Substitution::same_class) return 1;
    return std::size_t{std::ranges::max(setting_.manifest.labels)} + 1;
  }
  /// Samples replace each other within a group.
  std::size_t group_of(SampleId id) const {
    return mode_ == Substitution::same_class ? setting_.manifest.labels[index(id)] : 0;
  }
  /// The samples of low importance that this node will deliver: where it may replace them by those of
  /// packages, those of which it is the home.
  void note_low(JobView& job, const EpochBegins& event) {
    job.left.assign(groups(), {});
    job.low.assign(event.low.begin(), event.low.end());
    if (event.low.empty()) return;
    job.note_high(event, samples());
    if (event.lists.size() > 1) {
      const auto node = static_cast<std::size_t>(setting_.node);
      job.low.assign(samples(), false);
      if (deals_) {
        for (const SampleId id :
             deal_low(event, node, groups(), [this](SampleId id) { return group_of(id); }))
          job.low[index(id)] = true;
      } else {
        for (const SampleId id : event.lists[node]) job.low[index(id)] = event.low[index(id)] != 0;
      }
    }
    for (SampleId id = 0; id < setting_.manifest.samples; ++id)
      if (job.low[index(id)]) job.left[group_of(id)].push(id);
  }
  /// Removes samples that no job wants any more from the L-cache.
  void drop_unneeded(Decisions& decisions) {
    kept_.clear();
    for (SampleId id = substitutes_.take_any(); id >= 0; id = substitutes_.take_any()) {
      if (!is_low_[index(id)]) continue;
      if (is_needed(id))
        kept_.push_back(id);
      else
        drop_low(id, decisions);
    }
    for (const SampleId id : kept_) substitutes_.add(id, high_.importance(id));
  }
  void set_split(double split) {
    split_ = split;
    high_capacity_ = static_cast<std::int64_t>(split * static_cast<double>(setting_.capacity().count()));
    low_capacity_ = setting_.capacity().count() - high_capacity_;
  }
  /// A job will want it as a sample of low importance.
  bool is_needed(SampleId id) const {
    return std::ranges::any_of(jobs_, [id](const JobView& job) { return job.wants_low(id); });
  }

  SampleId serve_high(JobView& job, SampleId asked, Decisions& decisions) {
    if (holds(asked)) {
      ++job.high_hits;
      decisions.serve.push_back({asked, asked, tier(0)});
      return asked;
    }
    decisions.serve.push_back({asked, asked, others_.place_of(asked)});
    if (others_.let_keep(asked)) admit(job, asked, decisions);
    return asked;
  }

  /// While there is room, admits every sample. Then, in an epoch of selected samples, admits samples that
  /// are more important than the least important one.
  void admit(const JobView& job, SampleId id, Decisions& decisions) {
    const std::int64_t size = size_of(id);
    // Samples of the L-cache beyond its share leave when they are delivered.
    const std::int64_t room = std::min(high_capacity_, setting_.capacity().count() - low_used_);
    if (size > room) return;
    while (high_used_ + size > room) {
      if (job.low.empty() || high_.importance(id) <= high_.importance(high_.least())) return;
      drop_high(high_.least(), decisions);
    }
    high_.insert(id);
    high_used_ += size;
    decisions.keep(id, Bytes(size));
    others_.note_kept(id, decisions);
  }
  void drop_high(SampleId id, Decisions& decisions) {
    high_.remove(id);
    high_used_ -= size_of(id);
    decisions.drop(id, Bytes(size_of(id)));
    others_.note_dropped(id, decisions);
  }

  SampleId serve_low(JobView& job, SampleId asked, Decisions& decisions) {
    ++job.low_wanted;
    // Where samples are not listed once, it may have been delivered.
    SampleId given = holds(asked) && (job.wants_low(asked) || mode_ == Substitution::off) ? asked : -1;
    if (given < 0 && mode_ != Substitution::off)
      given = substitutes_.take(
          asked, high_.importance(asked), [&](SampleId id) { return job.wants_low(id); },
          [&](SampleId id) { return !is_low_[index(id)]; });
    if (given < 0) {
      ++job.low_on_demand;
      given = mode_ == Substitution::off ? asked : not_here(job, asked);
    }
    decisions.serve.push_back({asked, given, holds(given) ? tier(0) : others_.place_of(given)});
    return given;
  }
  /// What is delivered instead of a sample that is not in the L-cache: one that a package brings, itself, or
  /// one that is left. So each sample of the lists is delivered once.
  SampleId not_here(JobView& job, SampleId asked) const {
    const auto fits = [&](SampleId id) { return job.wants_low(id) && group_of(id) == group_of(asked); };
    if (const SampleId id = on_the_way_.first(fits); id >= 0) return id;
    if (job.left.empty() || job.wants_low(asked)) return asked;
    if (const SampleId id = job.next_left(group_of(asked)); id >= 0) return id;
    for (std::size_t group = 0; group < job.left.size(); ++group)
      if (const SampleId id = job.next_left(group); id >= 0) return id;
    return asked;
  }

  void keep_low(const Arrived& read, Decisions& decisions) {
    if (holds(read.id) || low_used_ + read.size.count() > low_capacity_ ||
        high_used_ + low_used_ + read.size.count() > setting_.capacity().count())
      return;
    is_low_[index(read.id)] = true;
    low_used_ += read.size.count();
    decisions.keep(read.id, read.size);
    substitutes_.add(read.id, high_.importance(read.id));
  }
  void drop_low(SampleId id, Decisions& decisions) {
    is_low_[index(id)] = false;
    low_used_ -= size_of(id);
    decisions.drop(id, Bytes(size_of(id)));
  }
  void forget(const Arrived& read, Decisions& decisions) {
    others_.note_missing(read);
    if (read.from.where == Where::store && high_.holds(read.id)) drop_high(read.id, decisions);
  }

  /// Computes the aggregate importance in values_, if several jobs share the cache.
  void aggregate(JobView& job) {
    relative_importance(values_, order_, job.relative);
    weighed_.clear();
    for (const JobView& each : jobs_)
      if (!each.relative.empty() && each.is_active)
        weighed_.push_back({each.relative, each.benefit * each.boost});
    aggregate_importance(weighed_, values_);
  }

  /// Adapts the split and the weights of jobs by the results of the epoch that ends.
  void end_epoch(JobView& job) {
    if (adapts_ && job.low_wanted > 0) {
      const double on_demand = static_cast<double>(job.low_on_demand) / static_cast<double>(job.low_wanted);
      if (on_demand > 0.01) set_split(std::max(0.5, split_ - 0.05));
      if (on_demand == 0.0) set_split(std::min(0.95, split_ + 0.01));
    }
    if (fair_share_ > 0 && jobs_.size() > 1) {
      std::int64_t all = 0;
      for (const JobView& each : jobs_) all += each.high_hits;
      const double least = fair_share_ * static_cast<double>(all) / static_cast<double>(jobs_.size());
      const bool lags = static_cast<double>(job.high_hits) < least;
      job.boost = lags ? std::min(64.0, 2 * job.boost) : std::max(1.0, job.boost / 2);
    }
    job.high_hits = job.low_wanted = job.low_on_demand = 0;
  }

  Setting setting_;
  Substitution mode_;
  bool adapts_;
  bool deals_;  ///< samples of low importance among the nodes
  double fair_share_;
  std::int64_t package_;  ///< samples
  std::int64_t largest_;  ///< size of the largest sample
  float unvisited_;
  double split_ = 0.0;
  std::int64_t high_capacity_ = 0, low_capacity_ = 0;
  std::int64_t high_used_ = 0, low_used_ = 0;
  ImportanceHeap high_;
  Packages packages_;
  Substitutes substitutes_;
  OnTheWay on_the_way_;
  KnownHolders others_;
  std::vector<bool> is_low_;  ///< by id: in the L-cache
  std::vector<JobView> jobs_;
  std::vector<float> values_;    ///< scratch: the next importance
  std::vector<SampleId> order_;  ///< scratch
  std::vector<WeighedImportance> weighed_;
  std::vector<SampleId> kept_;  ///< scratch
};

}  // namespace

Catalog<Factory>::Entry icache() {
  return {
      .name = "icache",
      .summary =
          "keeps the samples of highest loss (H-cache), and serves those of low loss from packages that are "
          "read in the background (L-cache), if need be with another one",
      .paper =
          "Chen, He, Xu, Zhang, Yang, Hu, Sun, Chen: iCache: An Importance-Sampling-Informed Cache for "
          "Accelerating I/O-Bound DNN Model Training. HPCA 2023",
      .options =
          {{"split", "share of the capacity for the H-cache", 0.9, 0.0, 1.0},
           {"adapt",
            "after each epoch, enlarge the L-cache by 5 % of the capacity if more than 1 % of its requests "
            "were "
            "read on demand, or the H-cache by 1 % if none was",
            false},
           {"substitution",
            "sample of low importance that may replace another: any: the one that arrived first; same-class: "
            "the first of the same class; nearest: that of the nearest loss",
            std::string("any"),
            -std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::infinity(),
            {"off", "any", "same-class", "nearest"}},
           {"package", "samples in a package", std::int64_t{32}, 1, 1e6},
           {"repack", "write a package again when a smaller share of its samples is of low importance", 0.5,
            0.0, 1.0},
           {"unvisited", "importance of samples without a loss yet", 1.0, 0.0},
           {"benefit",
            "share of its step time that the cache saves the job, (t without - t with) / t without, from two "
            "simulations or runs: the weight of its losses where jobs share the cache (data.shared)",
            1.0, 0.0, 1.0},
           {"probe",
            "several jobs: steps of each worker in which the benefit is measured with the cache, and as many "
            "without it, in the second epoch of a job and again when another one begins or ends; until then "
            "it is as stated. 0: it is not measured",
            std::int64_t{0}, 0, 1e6},
           {"fair_share",
            "several jobs: a job with fewer H hits than this share of the mean counts twice as much in the "
            "next epoch; 0: off",
            0.0, 0.0, 1.0}},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<ICache>(setting);
               },
               .needs = {.manifest = true, .importance = true, .idle = true},
               .replaces = true,
               .follows_directory = true,
               .loaders = 4},
      .aliases = {"isa"}};
}

}  // namespace tandem::cache
