#include "workloads/records/data_figures.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <variant>

#include "policies/vocabulary/divergence.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/records/id_text.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace {

/// The epochs of a part of the job.
struct EpochRange {
  std::int64_t first = 0, last = 0;
  bool has(std::int64_t epoch) const { return first <= epoch && epoch <= last; }
};

std::map<std::int64_t, std::int64_t> requests_by_epoch(const Journal& journal) {
  std::map<std::int64_t, std::int64_t> requests;
  for (const CacheRecord& record : journal.caches)
    if (is_delivered(record)) requests[record.epoch] += record.samples;
  return requests;
}

/// Pre: journal.caches is not empty, as below.
std::int64_t last_epoch(const Journal& journal) {
  return std::ranges::max(journal.caches, {}, &CacheRecord::epoch).epoch;
}

/// Later epochs were requested, or the job stopped exactly at its end.
bool is_complete(const RunInfo& info, const Journal& journal, std::int64_t epoch) {
  return epoch < last_epoch(journal) || info.experiment.stop.epochs == static_cast<double>(epoch + 1);
}

/// The job ends before this epoch: its requests were batches in advance, on which no worker trained.
bool is_beyond_the_end(const RunInfo& info, std::int64_t epoch) {
  const double end = info.experiment.stop.epochs;
  return end > 0 && static_cast<double>(epoch) >= end;
}

/// The cold epoch, or the range of the later epochs, which may be empty. The last epoch is left out if only a
/// part of it was requested, unless it is the only one and the job trained in it.
EpochRange range_of(const RunInfo& info, const Journal& journal, bool is_cold) {
  const std::int64_t first = std::ranges::min(journal.caches, {}, &CacheRecord::epoch).epoch;
  if (is_cold) return {first, first};
  const std::int64_t last = last_epoch(journal);
  const bool leaves_out_last = last > first && !is_complete(info, journal, last) &&
                               (last > first + 1 || is_beyond_the_end(info, last));
  return {first + 1, leaves_out_last ? last - 1 : last};
}

/// The records of the nodes about the epochs that they recorded completely.
std::map<std::int64_t, std::vector<const DeliveryRecord*>> recorded_epochs(const Journal& journal) {
  std::map<std::int64_t, std::vector<const DeliveryRecord*>> epochs;
  std::map<std::int64_t, std::int64_t> recorded;
  for (const DeliveryRecord& record : journal.deliveries) {
    epochs[record.epoch].push_back(&record);
    recorded[record.epoch] += record.samples;
  }
  const auto requests = requests_by_epoch(journal);
  std::erase_if(epochs, [&](const auto& epoch) {
    const auto all = requests.find(epoch.first);
    return all == requests.end() || all->second != recorded[epoch.first];
  });
  return epochs;
}

/// The bytes of the data set, from an epoch in which nodes were asked for each sample once.
std::optional<double> bytes_of_set(const std::vector<const DeliveryRecord*>& records) {
  std::int64_t samples = 0, bytes = 0;
  for (const DeliveryRecord* record : records) {
    if (record->bytes != record->distinct_bytes) return std::nullopt;
    samples += record->samples;
    bytes += record->bytes;
  }
  // Nodes that are dealt parts of a list have no sample in common.
  if (samples != records.front()->set) return std::nullopt;
  return static_cast<double>(bytes);
}

/// A cache node departed while the job continued.
bool has_lost_caches(const RunInfo& info, const Journal& journal) {
  const auto is_of_node = [&](const MembershipRecord& change) {
    if (change.slot >= 0 || change.event != "departed") return false;
    for (std::size_t rank = 0; rank < info.roles.size(); ++rank)
      if (info.roles[rank] == "cache-node" && host_of(info, static_cast<Rank>(rank)) == change.host)
        return true;
    return false;
  };
  return info.experiment.continuation() != Continuation::restart_on_departure &&
         std::ranges::any_of(journal.membership, is_of_node);
}

// ---- Coverage ----

/// The lag of losses that come from visits; none: importance does not, or there is none.
std::optional<std::int64_t> lag_of_visits(const RunInfo& info) {
  const auto& data = info.experiment.data;
  const auto lag = data.sampling_options.find("lag");
  if (lag == data.sampling_options.end() || !std::holds_alternative<std::int64_t>(lag->second))
    return std::nullopt;
  const bool is_visited = info.experiment.workload.math == Math::real || !data.losses.empty();
  return is_visited ? std::optional(std::get<std::int64_t>(lag->second)) : std::nullopt;
}

/// Since when each sample has had its present importance.
class ImportanceAges {
 public:
  ImportanceAges(std::int64_t lag, std::size_t set) : lag_(lag), visited_in_(set, never) {}

  std::optional<double> at_begin_of(std::int64_t epoch) {
    for (auto visited = visits_.begin(); visited != visits_.end() && visited->first < epoch - lag_;
         visited = visits_.erase(visited))
      for (const std::size_t id : visited->second) visited_in_[id] = visited->first;
    std::int64_t ages = 0, known = 0;
    for (const std::int64_t visit : visited_in_) {
      if (visit == never) continue;
      ages += epoch - visit;
      ++known;
    }
    if (known == 0) return std::nullopt;
    return static_cast<double>(ages) / static_cast<double>(known);
  }
  void add(std::int64_t epoch, std::span<const std::uint32_t> delivered) {
    auto& ids = visits_[epoch];
    for (std::size_t id = 0; id < delivered.size(); ++id)
      if (delivered[id] > 0) ids.push_back(id);
  }

 private:
  static constexpr std::int64_t never = -1;
  std::int64_t lag_;
  std::map<std::int64_t, std::vector<std::size_t>> visits_;  ///< too new
  std::vector<std::int64_t> visited_in_;                     ///< by id
};

/// How often each sample was requested and delivered.
struct DeliveryCounts {
  std::vector<std::uint32_t> requested, delivered;

  explicit DeliveryCounts(std::size_t set) : requested(set), delivered(set) {}
  void add(const DeliveryRecord& record) {
    add_ids(record.requested, requested);
    add_ids(record.delivered.empty() ? record.requested : record.delivered, delivered);
  }
  EpochCoverage coverage(std::int64_t epoch) const {
    EpochCoverage all{.epoch = epoch, .set = std::ssize(delivered)};
    for (std::size_t id = 0; id < delivered.size(); ++id) {
      all.requested += requested[id];
      all.distinct += delivered[id] > 0 ? 1 : 0;
      all.omitted += std::max(requested[id], delivered[id]) - delivered[id];
      all.repeated += std::max(requested[id], delivered[id]) - requested[id];
    }
    // Rounding may take it below 0.
    all.divergence = std::max(0.0, divergence_from_uniform(std::span<const std::uint32_t>(delivered)));
    return all;
  }
};

// ---- Times ----

struct Trained {
  Seconds end;
  std::int64_t samples;
};

/// By its end.
std::vector<Trained> trained_steps(const Journal& journal) {
  std::vector<Trained> steps;
  for (const StepRecord& step : journal.steps) steps.push_back({step.start + step.duration(), step.samples});
  std::ranges::sort(steps, {}, &Trained::end);
  return steps;
}

/// No worker trained on more than a batch more than another one.
bool train_equally(const Journal& journal) {
  std::map<Rank, std::int64_t> samples;
  std::int64_t batch = 0;
  for (const StepRecord& step : journal.steps) {
    samples[step.rank] += step.samples;
    batch = std::max<std::int64_t>(batch, step.samples);
  }
  if (samples.empty()) return true;
  const auto [least, most] = std::ranges::minmax(samples | std::views::values);
  return most - least <= batch;
}

/// The share of their steps that workers waited for batches: of the cold epoch, or of the later ones. None
/// where it is not known which steps those are, because workers have unequal parts of an epoch.
std::optional<double> stall_of(const RunInfo& info, const Journal& journal, bool is_cold) {
  if (!train_equally(journal)) return std::nullopt;
  std::map<Rank, std::vector<const StepRecord*>> steps;
  for (const StepRecord& step : journal.steps) steps[step.rank].push_back(&step);
  const auto requests = requests_by_epoch(journal);
  // Each worker's part of the cold epoch.
  const double part = static_cast<double>(requests.begin()->second) /
                      static_cast<double>(std::max<std::size_t>(1, steps.size()));
  Seconds waited{0}, all{0};
  for (auto& [rank, own] : steps) {
    std::ranges::sort(own, {}, [](const StepRecord* step) { return step->step; });
    double before = 0.0;
    for (const StepRecord* step : own) {
      const bool is_of_cold = before < part - 0.5;
      before += step->samples;
      if (is_of_cold != is_cold || !counts(info, *step)) continue;
      waited += step->phases[static_cast<std::size_t>(Phase::load)];
      all += step->duration();
    }
  }
  if (all <= Seconds(0)) return std::nullopt;
  return waited / all;
}

// ---- The document ----

/// Sums of rows of caches.csv: by class, and of delivered samples.
struct Sums {
  std::map<std::string, CacheRecord> classes;
  std::map<std::string, CacheRecord, std::less<>> directory;  ///< messages to it and from it
  CacheRecord delivered, local;

  void add(const CacheRecord& record) {
    if (is_of_directory(record.from)) return add(directory[record.from], record);
    if (counts_left(record.from) || is_estimate(record.from)) return;
    add(classes[record.from], record);
    if (!is_delivered(record)) return;
    add(delivered, record);
    if (record.from.starts_with("tier")) add(local, record);
  }
  static void add(CacheRecord& to, const CacheRecord& record) {
    to.samples += record.samples;
    to.bytes += record.bytes;
    to.blocked += record.blocked;
    to.reading += record.reading;
  }
  std::map<std::string, ClassSums> sums_of_classes() const {
    std::map<std::string, ClassSums> all;
    for (const auto& [name, sum] : classes) all[name] = {sum.samples, sum.bytes, sum.blocked};
    return all;
  }
};

DirectoryFigures directory_figures(const Sums& sums) {
  const auto row = [&](std::string_view name) {
    const auto found = sums.directory.find(name);
    return found == sums.directory.end() ? CacheRecord{} : found->second;
  };
  const CacheRecord lookups = row(lookup_messages_row), updates = row(update_messages_row);
  return {.lookups = {.messages = lookups.samples,
                      .bytes = lookups.bytes,
                      .samples = row(lookup_row).samples,
                      .blocked = row(lookup_row).blocked},
          .updates = {.messages = updates.samples,
                      .bytes = updates.bytes,
                      .published = row(published_row).samples,
                      .withdrawn = row(withdrawn_row).samples,
                      .repaired = row(repaired_row).samples}};
}

double share(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

CoverageFigures coverage_figures(const EpochCoverage& coverage) {
  return {.distinct = coverage.distinct,
          .distinct_share = share(coverage.distinct, coverage.set),
          .omitted = coverage.omitted,
          .repeated = coverage.repeated,
          .divergence = coverage.divergence,
          .importance_age = coverage.importance_age};
}

std::optional<BoundFigures> bound_figures(const RunInfo& info, const Journal& journal, bool is_cold,
                                          const Sums& sums) {
  const auto bound = local_bound(info, journal, is_cold);
  if (!bound) return std::nullopt;
  const auto delivered = static_cast<double>(sums.delivered.bytes);
  BoundFigures all{.name = bound->one_visit ? "capacity / requests" : "residents",
                   .byte_hit_ratio = bound->bytes / delivered};
  if (bound->oblivious) all.oblivious = *bound->oblivious / delivered;
  if (bound->bytes > 0) all.attained = static_cast<double>(sums.local.bytes) / bound->bytes;
  return all;
}

BeladyFigures belady_figures(const RunInfo& info, const Journal& journal, bool is_cold, const Sums& sums) {
  const OfflineOptimum optimum = offline_optimum(info, journal, is_cold);
  if (!optimum.missing.empty()) return {.missing = optimum.missing};
  BeladyFigures all{.byte_hit_ratio = optimum.bytes / static_cast<double>(sums.delivered.bytes)};
  if (optimum.bytes > 0) all.attained = static_cast<double>(sums.local.bytes) / optimum.bytes;
  return all;
}

/// The cold epoch, or the later ones; none: there is none.
std::optional<DataPart> part_of(const RunInfo& info, const Journal& journal, bool is_cold) {
  const EpochRange range = range_of(info, journal, is_cold);
  Sums sums;
  std::set<std::int64_t> epochs;
  for (const CacheRecord& record : journal.caches) {
    if (!range.has(record.epoch)) continue;
    sums.add(record);
    epochs.insert(record.epoch);
  }
  if (sums.delivered.samples == 0) return std::nullopt;
  const auto times = epoch_times(info, journal);
  const std::size_t first = is_cold ? 0 : 1;
  const std::size_t end = is_cold ? std::min<std::size_t>(1, times.size()) : times.size();
  Seconds time{0};
  for (std::size_t i = first; i < end; ++i) time += times[i];
  DataPart part{.epochs = epochs.size(),
                .requests = sums.delivered.samples,
                .bytes = sums.delivered.bytes,
                .blocked = sums.delivered.blocked,
                .hit_ratio = share(sums.local.samples, sums.delivered.samples),
                .byte_hit_ratio = share(sums.local.bytes, sums.delivered.bytes),
                .bound = bound_figures(info, journal, is_cold, sums),
                .belady = belady_figures(info, journal, is_cold, sums),
                .stall = stall_of(info, journal, is_cold),
                .classes = sums.sums_of_classes()};
  if (end > first) part.epoch_time_s = time.count() / static_cast<double>(end - first);
  if (!sums.directory.empty()) part.directory = directory_figures(sums);
  return part;
}

std::vector<EpochFigures> figures_of_epochs(const RunInfo& info, const Journal& journal,
                                            const Coverage& coverage) {
  std::map<std::int64_t, Sums> sums;
  for (const CacheRecord& record : journal.caches) sums[record.epoch].add(record);
  const auto times = epoch_times(info, journal);
  std::vector<EpochFigures> all;
  for (const auto& [epoch, sum] : sums) {
    const std::size_t number = all.size();
    EpochFigures& own = all.emplace_back(EpochFigures{.epoch = epoch,
                                                      .complete = is_complete(info, journal, epoch),
                                                      .requests = sum.delivered.samples,
                                                      .classes = sum.sums_of_classes()});
    if (number < times.size()) own.time_s = times[number].count();
    if (sum.delivered.samples > 0) own.hit_ratio = share(sum.local.samples, sum.delivered.samples);
    const auto known = std::ranges::find(coverage.epochs, epoch, &EpochCoverage::epoch);
    if (known != coverage.epochs.end()) own.coverage = coverage_figures(*known);
  }
  return all;
}

}  // namespace

bool is_delivered(const CacheRecord& record) { return counts_delivered(record.from); }

Coverage coverage_of(const RunInfo& info, const Journal& journal) {
  const auto recorded = recorded_epochs(journal);
  Coverage coverage;
  if (recorded.empty()) return coverage;
  const auto set = static_cast<std::size_t>(recorded.begin()->second.front()->set);
  DeliveryCounts all(set);
  const std::int64_t last = std::max(recorded.begin()->first, range_of(info, journal, false).last);
  // An age needs every epoch before.
  const bool is_gapless =
      recorded.begin()->first == 0 && std::prev(recorded.end())->first == std::ssize(recorded) - 1;
  const auto lag = lag_of_visits(info);
  std::optional<ImportanceAges> ages;
  if (lag && is_gapless) ages.emplace(*lag, set);
  for (const auto& [epoch, records] : recorded) {
    DeliveryCounts own(set);
    for (const DeliveryRecord* record : records) {
      own.add(*record);
      if (epoch <= last) all.add(*record);
    }
    EpochCoverage& result = coverage.epochs.emplace_back(own.coverage(epoch));
    if (!ages) continue;
    result.importance_age = ages->at_begin_of(epoch);
    ages->add(epoch, own.delivered);
  }
  coverage.total = all.coverage(-1);
  // In which epoch a request was not met matters, not whether a later one made up for it.
  coverage.total->omitted = coverage.total->repeated = 0;
  for (const EpochCoverage& epoch : coverage.epochs) {
    if (epoch.epoch > last) continue;
    coverage.total->omitted += epoch.omitted;
    coverage.total->repeated += epoch.repeated;
  }
  return coverage;
}

std::vector<Seconds> epoch_times(const RunInfo& info, const Journal& journal) {
  std::vector<Seconds> times;
  if (!info.generations.empty() || journal.steps.empty() || journal.caches.empty()) return times;
  // No worker trains on the samples that a departed worker had requested, or they are taken again.
  const auto is_departure = [](const MembershipRecord& change) {
    return change.slot >= 0 && change.event == "departed";
  };
  if (std::ranges::any_of(journal.membership, is_departure)) return times;
  const auto steps = trained_steps(journal);
  Seconds begin = std::ranges::min(journal.steps, {}, &StepRecord::start).start;
  std::int64_t trained = 0, requested = 0;
  auto step = steps.begin();
  for (const auto& [epoch, requests] : requests_by_epoch(journal)) {
    if (!is_complete(info, journal, epoch)) break;
    requested += requests;
    Seconds end = begin;
    for (; trained < requested && step != steps.end(); ++step) {
      trained += step->samples;
      end = step->end;
    }
    if (trained < requested) break;
    times.push_back(end - begin);
    begin = end;
  }
  return times;
}

std::optional<LocalBound> local_bound(const RunInfo& info, const Journal& journal, bool is_cold) {
  // The bound does not hold where other jobs bring samples into the cache.
  if (info.physics.contains(shared_cache_key) || has_lost_caches(info, journal)) return std::nullopt;
  const auto& data = info.experiment.data;
  const EpochRange range = range_of(info, journal, is_cold);
  const auto recorded = recorded_epochs(journal);
  for (const CacheRecord& record : journal.caches)
    if ((!is_delivered(record) && !is_of_directory(record.from) && !is_estimate(record.from)) ||
        (range.has(record.epoch) && !recorded.contains(record.epoch)))
      return std::nullopt;
  const std::int64_t capacity = is_cold ? 0 : (data.cache_capacity + data.disk_capacity).count();
  LocalBound bound;
  double oblivious = 0.0;
  bool is_dealt = data.sampling != "shard" && !is_cold;
  for (const auto& [epoch, records] : recorded) {
    if (!range.has(epoch)) continue;
    const auto set = bytes_of_set(records);
    is_dealt = is_dealt && set && records.size() > 1;
    for (const DeliveryRecord* record : records)
      if (is_dealt)
        oblivious += static_cast<double>(record->bytes) * std::min(1.0, static_cast<double>(capacity) / *set);
    std::set<Rank> nodes;
    for (const DeliveryRecord* record : records) {
      // In two parts, which may have samples in common.
      if (!nodes.insert(record->rank).second) return std::nullopt;
      bound.one_visit = bound.one_visit && record->bytes == record->distinct_bytes;
      bound.bytes +=
          static_cast<double>(record->bytes - std::max<std::int64_t>(0, record->distinct_bytes - capacity));
    }
  }
  if (is_dealt) bound.oblivious = oblivious;
  return bound;
}

OfflineOptimum offline_optimum(const RunInfo& info, const Journal& journal, bool is_cold) {
  const auto missing = [](std::string why) { return OfflineOptimum{.missing = std::move(why)}; };
  if (info.physics.contains(shared_cache_key)) return missing("other jobs fill the caches, too");
  if (!info.generations.empty()) return missing("the job started again, with empty caches");
  if (has_lost_caches(info, journal)) return missing("a cache node departed with its cache");
  const auto has_row = [&](std::string_view from) {
    return std::ranges::any_of(journal.caches,
                               [&](const CacheRecord& row) { return row.from == from && row.samples > 0; });
  };
  if (has_row(background_row)) return missing("caches read samples before they were requested");
  if (has_row(kept_row)) return missing("caches were not empty when the job began");
  std::map<Rank, EpochRange> asked;  // by node
  std::map<std::pair<Rank, std::int64_t>, std::int64_t> most;
  std::int64_t requests = 0;
  for (const CacheRecord& row : journal.caches) {
    if (row.from == belady_row) most[{row.rank, row.epoch}] += row.bytes;
    if (!is_delivered(row)) continue;
    requests += row.samples;
    EpochRange& range = asked.emplace(row.rank, EpochRange{row.epoch, row.epoch}).first->second;
    range = {std::min(range.first, row.epoch), std::max(range.last, row.epoch)};
  }
  const EpochRange range = range_of(info, journal, is_cold);
  const std::int64_t cold = range_of(info, journal, true).first;
  OfflineOptimum optimum;
  for (const auto& [node, of_node] : asked) {
    // It asked for nothing in this part.
    if (of_node.last < range.first) continue;
    const auto row = most.find({node, std::min(of_node.last, range.last)});
    if (row == most.end() && requests > most_ordered)
      return missing("of more than " + std::to_string(most_ordered) +
                     " requests, nodes do not keep the order");
    if (row == most.end() || of_node.first != cold)
      return missing("nodes did not record all requests, or began in different epochs");
    optimum.bytes += static_cast<double>(row->second);
  }
  return optimum;
}

std::optional<DataFigures> data_figures(const RunInfo& info, const Journal& journal) {
  if (!std::ranges::any_of(journal.caches, is_delivered)) return std::nullopt;
  const Coverage coverage = coverage_of(info, journal);
  DataFigures figures{.cold = part_of(info, journal, true),
                      .warm = part_of(info, journal, false),
                      .epochs = figures_of_epochs(info, journal, coverage)};
  if (coverage.total) figures.coverage = coverage_figures(*coverage.total);
  return figures;
}

}  // namespace tandem
