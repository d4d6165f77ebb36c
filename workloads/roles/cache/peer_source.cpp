#include "workloads/roles/cache/peer_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/cache/peer_parts.hpp"

namespace tandem {

/// The samples from `begin` to before `end`.
SampleRead PeerSource::take_part(SampleRead& read, std::size_t begin, std::size_t end) const {
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

void PeerSource::add(SampleRead read) {
  TANDEM_CHECK(read.others == 0, "packages are in stores, others:", read.others);
  auto& waiting = read.why == cache::Why::demand || read.is_awaited ? on_demand_ : ahead_;
  const auto ends = ends_of_peer_parts(manifest_, read.ids);
  if (ends.size() == 1) {
    waiting.push_back(std::move(read));
  } else {
    for (std::size_t begin = 0; const std::size_t end : ends)
      waiting.push_back(take_part(read, std::exchange(begin, end), end));
  }
  if (peer_.is_away()) return refuse(waiting);
  request_next();
}

void PeerSource::hurry(SampleId id) {
  const auto part = std::ranges::find_if(
      ahead_, [id](const SampleRead& read) { return std::ranges::find(read.ids, id) != read.ids.end(); });
  if (part == ahead_.end()) return;
  on_demand_.push_back(std::move(*part));
  ahead_.erase(part);
}

void PeerSource::request_next() {
  while (peer_.takes_requests() && requested_ < window && !(on_demand_.empty() && ahead_.empty())) {
    auto& waiting = on_demand_.empty() ? ahead_ : on_demand_;
    request(std::move(waiting.front()));
    waiting.pop_front();
  }
}

void PeerSource::request(SampleRead part) {
  Request& request = requests_.emplace_back(Request{.read = std::move(part)});
  SampleRead& own = request.read;
  own.started = context_.now();
  requested_ += own.size;
  if (!own.targets.empty() && is_one_piece(own.targets)) {
    request.into = own.targets.front().data();
  } else if (!own.targets.empty()) {
    request.records.resize(static_cast<std::size_t>(own.size.count()));
    request.into = request.records.data();
  }
  request.data = protocol::receive<"peer-data">(context_, peer_.rank(), {own.size, request.into});
  const auto count = std::ssize(own.ids);
  request.sent = protocol::send<"peer-reads">(
      context_, peer_.rank(), protocol::Read{.samples = static_cast<std::int32_t>(count), .epoch = own.epoch},
      {Bytes(count * static_cast<std::int64_t>(sizeof(SampleId))),
       reinterpret_cast<std::byte*>(own.ids.data())});
}

void PeerSource::put_next(Pending& wait) {
  if (!wait.empty()) return;
  if (!requests_.empty()) {
    wait = std::move(requests_.front().data);
  } else {
    peer_.put_next(wait);
    awaits_peer_ = !wait.empty();
  }
}

/// Moves the received samples, which follow each other, to their places. These may be in the same memory,
/// each at its own place or behind it, so the last one is moved first.
void PeerSource::spread(const Request& request) const {
  const auto& targets = request.read.targets;
  std::size_t end = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (found_.has(i)) end += targets[i].size();
  for (std::size_t i = targets.size(); i-- > 0;) {
    if (!found_.has(i)) continue;
    end -= targets[i].size();
    if (request.into + end != targets[i].data())
      std::memmove(targets[i].data(), request.into + end, targets[i].size());
  }
}

/// Its samples are not there.
void PeerSource::refuse(std::deque<SampleRead>& parts) {
  for (SampleRead& part : parts) {
    part.not_here = std::exchange(part.ids, {});
    part.targets.clear();
    part.size = Bytes(0);
    refused_.push_back(std::move(part));
  }
  parts.clear();
}

std::optional<SampleRead> PeerSource::take_refused() {
  if (refused_.empty()) return std::nullopt;
  SampleRead read = std::move(refused_.front());
  refused_.pop_front();
  return read;
}

/// Samples that were being sent arrive, and nothing else.
void PeerSource::depart() {
  peer_.depart();
  refuse(on_demand_);
  refuse(ahead_);
}

std::optional<SampleRead> PeerSource::finish() {
  if (std::exchange(awaits_peer_, false)) {
    if (peer_.advance(ended_)) request_next();
    return std::nullopt;
  }
  Request request = std::move(requests_.front());
  requests_.pop_front();
  context_.wait(request.sent);
  SampleRead& asked = request.read;
  found_ = ended_.outcome == Outcome::done
               ? protocol::unpack<protocol::Found>(ended_.note)
               : protocol::Found{.samples = static_cast<std::int32_t>(asked.ids.size())};
  TANDEM_CHECK(found_.samples == std::ssize(asked.ids), "asked for", asked.ids.size(), "answered for",
               found_.samples);
  if (request.into != nullptr) spread(request);
  // The samples may be in its own memory.
  SampleRead read = std::move(asked);
  const auto ids = std::exchange(read.ids, {});
  const auto targets = std::exchange(read.targets, {});
  requested_ -= std::exchange(read.size, Bytes(0));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!found_.has(i)) {
      read.not_here.push_back(ids[i]);
      continue;
    }
    read.ids.push_back(ids[i]);
    read.size += manifest_.size_of(ids[i]);
    if (!targets.empty()) read.targets.push_back(targets[i]);
  }
  read.duration = context_.now() - read.started;
  request_next();
  return read;
}

void PeerSource::say_end() {
  TANDEM_CHECK(is_idle() && end_.empty(), "reads", requests_.size());
  if (peer_.takes_requests()) end_ = protocol::send<"peer-reads">(context_, peer_.rank(), protocol::End{});
}

void PeerSource::close(Pending& last) {
  peer_.close(last);
  if (!end_.empty()) context_.wait(end_);
}

}  // namespace tandem
