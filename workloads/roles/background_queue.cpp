#include "workloads/roles/background_queue.hpp"

#include <algorithm>
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
  queued_.insert(ids.begin(), ids.begin() + fetch.count);
  const bool is_package = fetch.why == cache::Why::package;
  const bool joins = !is_package && !reads_.empty() && reads_.back().why == fetch.why &&
                     reads_.back().from == fetch.from && reads_.back().job == job &&
                     reads_.back().ids.size() + ids.size() <= batch_;
  if (joins) {
    Read& before = reads_.back();
    before.ids.insert(before.ids.end(), ids.begin(), ids.end());
    return;
  }
  add_parts({.ids = {ids.begin(), ids.end()},
             .others = fetch.others,
             .why = fetch.why,
             .from = fetch.from,
             .job = job,
             .epoch = epoch});
}

/// A large read would delay what a batch waits for, and the end of the job.
void BackgroundQueue::add_parts(const Read& read) {
  const std::size_t needed = read.ids.size() - read.others;
  for (std::size_t first = 0; first < read.ids.size(); first += most_) {
    const std::size_t end = std::min(first + most_, read.ids.size());
    const auto ids = std::span(read.ids).subspan(first, end - first);
    reads_.push_back({.ids = {ids.begin(), ids.end()},
                      .others = end - std::clamp(needed, first, end),
                      .why = read.why,
                      .is_new_package = read.is_new_package,
                      .from = read.from,
                      .job = read.job,
                      .epoch = read.epoch});
  }
}

std::optional<BackgroundQueue::Read> BackgroundQueue::next() {
  if (is_running() || reads_.empty()) return std::nullopt;
  return take(reads_.begin());
}

std::optional<BackgroundQueue::Read> BackgroundQueue::hurry(SampleId id) {
  if (!queued_.contains(id)) return std::nullopt;
  return take(std::ranges::find_if(reads_, [id](const Read& read) {
    return std::ranges::find(read.ids.begin(), read.ids.end() - static_cast<std::ptrdiff_t>(read.others),
                             id) != read.ids.end() - static_cast<std::ptrdiff_t>(read.others);
  }));
}

std::optional<BackgroundQueue::Read> BackgroundQueue::take(std::deque<Read>::iterator read) {
  Read taken = std::move(*read);
  reads_.erase(read);
  for (std::size_t i = 0; i + taken.others < taken.ids.size(); ++i) queued_.erase(taken.ids[i]);
  return taken;
}

}  // namespace tandem
