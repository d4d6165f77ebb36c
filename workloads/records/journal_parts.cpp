#include "workloads/records/journal_parts.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem {
namespace {

bool same_key(const StalenessRecord& one, const StalenessRecord& other) {
  return one.rank == other.rank && one.staleness == other.staleness;
}
bool same_key(const CacheRecord& one, const CacheRecord& other) {
  return one.rank == other.rank && one.epoch == other.epoch && one.from == other.from;
}

/// `sign`: 1 or -1.
void add(StalenessRecord& to, const StalenessRecord& what, int sign) {
  to.pushes += sign * what.pushes;
  to.samples += sign * what.samples;
}
void add(CacheRecord& to, const CacheRecord& what, int sign) {
  to.samples += sign * what.samples;
  to.bytes += sign * what.bytes;
  to.blocked += what.blocked * static_cast<double>(sign);
  to.reading += what.reading * static_cast<double>(sign);
}

bool is_empty(const StalenessRecord& record) { return record.pushes == 0; }
bool is_empty(const CacheRecord& record) {
  return record.samples == 0 && record.blocked == Seconds(0) && record.reading == Seconds(0);
}

template <class Record>
concept Counts = std::is_same_v<Record, StalenessRecord> || std::is_same_v<Record, CacheRecord>;

/// For figures that add up; shares and longest times do not.
template <class Figure>
constexpr bool is_count = std::is_same_v<std::remove_cvref_t<Figure>, std::int64_t>;

template <Counts Record>
std::vector<Record> differences(std::vector<Record> now, const std::vector<Record>& before) {
  for (Record& record : now) {
    const auto old = std::ranges::find_if(before, [&](const Record& b) { return same_key(b, record); });
    if (old != before.end()) add(record, *old, -1);
  }
  std::erase_if(now, [](const Record& record) { return is_empty(record); });
  return now;
}

template <Counts Record>
void add_equal(std::vector<Record>& records) {
  std::vector<Record> sums;
  for (const Record& record : records) {
    const auto sum = std::ranges::find_if(sums, [&](const Record& s) { return same_key(s, record); });
    if (sum == sums.end())
      sums.push_back(record);
    else
      add(*sum, record, 1);
  }
  records = std::move(sums);
}

}  // namespace

Journal JournalParts::take() {
  Journal part;
  part.keep_decisions = journal_.keep_decisions;
  // Both journals have the same lists and figures in the same order.
  std::vector<void*> targets;
  visit_lists(part, [&](const char*, bool, auto& records) { targets.push_back(&records); });
  taken_.resize(targets.size());
  std::size_t number = 0;
  visit_lists(journal_, [&](const char*, bool, const auto& records) {
    using Records = std::remove_cvref_t<decltype(records)>;
    auto& target = *static_cast<Records*>(targets.at(number));
    std::size_t& taken = taken_.at(number);
    ++number;
    if constexpr (!Counts<typename Records::value_type>) {
      TANDEM_CHECK(taken <= records.size(), taken, records.size());
      target.assign(records.begin() + static_cast<std::ptrdiff_t>(taken), records.end());
      taken = records.size();
    }
  });
  part.staleness = differences(journal_.staleness, staleness_);
  staleness_ = journal_.staleness;
  part.caches = differences(journal_.caches, caches_);
  caches_ = journal_.caches;
  std::vector<std::int64_t> counts;
  const auto add_count = [&](const char*, const auto& figure) {
    if constexpr (is_count<decltype(figure)>) counts.push_back(figure);
  };
  visit_figures(journal_, add_count);
  visit_server_figures(journal_, add_count);
  visit_commit_figures(journal_, add_count);
  counts_.resize(counts.size());
  number = 0;
  const auto take_difference = [&](const char*, auto& figure) {
    if constexpr (is_count<decltype(figure)>) figure = counts[number] - counts_[number];
    number += is_count<decltype(figure)> ? 1 : 0;
  };
  visit_figures(part, take_difference);
  visit_server_figures(part, take_difference);
  visit_commit_figures(part, take_difference);
  counts_ = std::move(counts);
  return part;
}

void add_counts(Journal& journal) {
  add_equal(journal.caches);
  add_equal(journal.staleness);
  std::ranges::stable_sort(journal.staleness, {}, [](const StalenessRecord& record) {
    return std::pair(record.rank, record.staleness);
  });
}

void shift_times(Journal& journal, Seconds by) {
  visit_moments(journal, [by](Seconds& moment) { moment += by; });
  for (auto& evaluation : journal.evaluations) evaluation.checkpoint_time += by;
}

}  // namespace tandem
