#include "workloads/roles/cache/peer_parts.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::vector<std::size_t> ends_of_peer_parts(const cache::Manifest& manifest, std::span<const SampleId> ids) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  Bytes size{0};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Bytes own = manifest.size_of(ids[i]);
    if (i > begin && (size + own > most_of_peer_part || i - begin == protocol::Found::most)) {
      ends.push_back(i);
      begin = i;
      size = Bytes(0);
    }
    size += own;
  }
  ends.push_back(ids.size());
  return ends;
}

/// The samples from `begin` to before `end`.
SampleRead PeerParts::take_part(SampleRead& read, std::size_t begin, std::size_t end) const {
  SampleRead part{.ids = {},
                  .why = read.why,
                  .job = read.job,
                  .epoch = read.epoch,
                  .from = read.from,
                  .moment = read.moment};
  for (std::size_t i = begin; i < end; ++i) {
    part.ids.push_back(read.ids[i]);
    part.size += manifest_.size_of(read.ids[i]);
    if (!read.targets.empty()) part.targets.push_back(read.targets[i]);
    if (!read.records.empty()) part.records.push_back(std::move(read.records[i]));
  }
  return part;
}

void PeerParts::add(SampleRead read) {
  TANDEM_CHECK(read.others == 0, "packages are in stores, others:", read.others);
  auto& waiting = read.why == cache::Why::demand || read.is_awaited ? on_demand_ : ahead_;
  const auto ends = ends_of_peer_parts(manifest_, read.ids);
  if (ends.size() == 1) return waiting.push_back(std::move(read));
  for (std::size_t begin = 0; const std::size_t end : ends)
    waiting.push_back(take_part(read, std::exchange(begin, end), end));
}

void PeerParts::hurry(SampleId id) {
  const auto part = std::ranges::find_if(
      ahead_, [id](const SampleRead& read) { return std::ranges::find(read.ids, id) != read.ids.end(); });
  if (part == ahead_.end()) return;
  on_demand_.push_back(std::move(*part));
  ahead_.erase(part);
}

std::optional<SampleRead> PeerParts::next() {
  auto& waiting = on_demand_.empty() ? ahead_ : on_demand_;
  if (waiting.empty() || requested_ >= window) return std::nullopt;
  SampleRead part = std::move(waiting.front());
  waiting.pop_front();
  requested_ += part.size;
  return part;
}

SampleRead PeerParts::end(SampleRead part, const protocol::Found& found) {
  const auto ids = std::exchange(part.ids, {});
  const auto targets = std::exchange(part.targets, {});
  requested_ -= std::exchange(part.size, Bytes(0));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!found.has(i)) {
      part.not_here.push_back(ids[i]);
      continue;
    }
    part.ids.push_back(ids[i]);
    part.size += manifest_.size_of(ids[i]);
    if (!targets.empty()) part.targets.push_back(targets[i]);
  }
  return part;
}

void PeerParts::refuse() {
  for (std::deque<SampleRead>* parts : {&on_demand_, &ahead_}) {
    for (SampleRead& part : *parts) {
      part.not_here = std::exchange(part.ids, {});
      part.targets.clear();
      part.size = Bytes(0);
      refused_.push_back(std::move(part));
    }
    parts->clear();
  }
}

std::optional<SampleRead> PeerParts::take_refused() {
  if (refused_.empty()) return std::nullopt;
  SampleRead read = std::move(refused_.front());
  refused_.pop_front();
  return read;
}

}  // namespace tandem
