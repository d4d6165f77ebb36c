#include "workloads/roles/cache/background_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tandem {

void BackgroundQueue::add(const cache::Decisions& decisions, std::int64_t epoch, int job) {
  for (const cache::Pack& package : decisions.pack) {
    const auto ids = decisions.ids_of(package);
    add_parts({.ids = {ids.begin(), ids.end()},
               .others = ids.size(),
               .why = cache::Why::package,
               .is_new_package = true,
               .job = job,
               .epoch = epoch});
  }
  for (const cache::Fetch& fetch : decisions.fetch) {
    if (fetch.why == cache::Why::demand) continue;
    add(fetch, std::span(decisions.ids).subspan(fetch.first, fetch.count + fetch.others), epoch, job);
  }
}

/// Single samples are read together with those before.
void BackgroundQueue::add(const cache::Fetch& fetch, std::span<const SampleId> ids, std::int64_t epoch,
                          int job) {
  const bool is_package = fetch.why == cache::Why::package;
  const auto last = reads_.empty() ? reads_.end() : std::prev(reads_.end());
  const bool joins = !is_package && last != reads_.end() && last->second.why == fetch.why &&
                     last->second.from == fetch.from && last->second.job == job &&
                     last->second.ids.size() + ids.size() <= batch_;
  if (joins) {
    Read& before = last->second;
    before.ids.insert(before.ids.end(), ids.begin(), ids.end());
    return index(last->first, ids);
  }
  add_parts({.ids = {ids.begin(), ids.end()},
             .others = fetch.others,
             .why = fetch.why,
             .from = fetch.from,
             .job = job,
             .epoch = epoch});
}

/// A large read would delay reads for which a batch waits, and the end of the job.
void BackgroundQueue::add_parts(const Read& read) {
  const std::size_t needed = read.ids.size() - read.others;
  for (std::size_t first = 0; first < read.ids.size(); first += most_) {
    const std::size_t end = std::min(first + most_, read.ids.size());
    const auto ids = std::span(read.ids).subspan(first, end - first);
    const std::size_t others = end - std::clamp(needed, first, end);
    if (!read.is_new_package) index(next_, ids.first(ids.size() - others));
    reads_.emplace(next_++, Read{.ids = {ids.begin(), ids.end()},
                                 .others = others,
                                 .why = read.why,
                                 .is_new_package = read.is_new_package,
                                 .from = read.from,
                                 .job = read.job,
                                 .epoch = read.epoch});
  }
}

void BackgroundQueue::index(std::int64_t number, std::span<const SampleId> ids) {
  for (const SampleId id : ids) bringing_[id] = number;
}

std::optional<BackgroundQueue::Read> BackgroundQueue::next() {
  if (running_ >= concurrent_ || reads_.empty()) return std::nullopt;
  return take(reads_.begin());
}

std::optional<BackgroundQueue::Read> BackgroundQueue::hurry(SampleId id) {
  const auto found = bringing_.find(id);
  return found == bringing_.end() ? std::nullopt : take(reads_.find(found->second));
}

std::optional<BackgroundQueue::Read> BackgroundQueue::take(std::map<std::int64_t, Read>::iterator read) {
  Read taken = std::move(read->second);
  reads_.erase(read);
  for (std::size_t i = 0; i + taken.others < taken.ids.size(); ++i) bringing_.erase(taken.ids[i]);
  return taken;
}

}  // namespace tandem
