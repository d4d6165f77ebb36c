#include "workloads/roles/cache/peer_source.hpp"

#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

void PeerSource::add(SampleRead read) {
  parts_.add(std::move(read));
  if (peer_.is_away()) return parts_.refuse();
  request_next();
}

void PeerSource::request_next() {
  while (peer_.takes_requests()) {
    auto part = parts_.next();
    if (!part) return;
    request(std::move(*part));
  }
}

void PeerSource::request(SampleRead part) {
  Request& request = requests_.emplace_back(Request{.read = std::move(part)});
  SampleRead& own = request.read;
  own.started = context_.now();
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

/// Samples that were being sent arrive, and nothing else.
void PeerSource::depart() {
  peer_.depart();
  parts_.refuse();
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
  SampleRead read = parts_.end(std::move(asked), found_);
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
