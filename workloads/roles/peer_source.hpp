// Samples that another cache node has in its tiers. It reads and keeps nothing for others, so a read may
// bring only some of the samples, or none. What a batch needs is spread over many nodes: if all of them
// answered at once, their messages would only share the link of the node that asks.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/sample_reads.hpp"

namespace tandem {

class PeerSource;

/// How much a node has asked the other nodes for. One of them may wait for its own disk or store, so several
/// are asked at the same time; further reads wait for their turn.
class PeerWindow {
 public:
  /// While less than this is asked for, the next read is requested. It is more than a link of 10 or 100
  /// Gbit/s passes in a round trip within a cluster.
  static constexpr Bytes most{512 << 10};
  /// The source has one more read that waits.
  void add(PeerSource& source);
  void note_requested(Bytes size) { asked_for_ += size; }
  void note_ended(Bytes size);

 private:
  void request_next();

  Bytes asked_for_{0};
  std::deque<PeerSource*> turns_;
};

/// Reads are requested when the window of the node has room. Those of many samples become several requests,
/// each of which ends as a read of its own. Reads on demand that wait for their turn become one, of what
/// several batches need.
class PeerSource : public SampleReads {
 public:
  /// The arguments must outlive it.
  PeerSource(Context& context, Rank peer, const cache::Manifest& manifest, PeerWindow& window)
      : context_(context), peer_(peer), manifest_(manifest), window_(window) {}
  Rank rank() const { return peer_; }
  void add(SampleRead read) override;
  /// Pre: one waits.
  void request_next();
  void put_next(Pending& wait) override;
  void hear(const Note& note) override { found_ = protocol::unpack<protocol::Found>(note); }
  std::optional<SampleRead> finish() override;
  /// In which so many samples are asked for.
  static std::size_t requests_for(std::size_t samples) {
    return (samples + protocol::Found::most - 1) / protocol::Found::most;
  }
  bool is_idle() const { return requests_.empty() && waiting_.empty(); }
  /// Tells the other node that no read follows. It ends only when all others have told it. Pre: is_idle().
  void say_end();
  void close() override;

 private:
  struct Request {
    SampleRead read;
    std::vector<std::byte> records = {};  ///< where the samples go to different places
    std::byte* into = nullptr;            ///< null when math is modelled
    Pending sent = {};
    Pending data = {};
  };
  void add_part(SampleRead read);
  void request(SampleRead read);
  void spread(const Request& request) const;

  Context& context_;
  Rank peer_;
  const cache::Manifest& manifest_;
  PeerWindow& window_;
  std::deque<SampleRead> waiting_;  ///< for their turn
  std::deque<Request> requests_;
  protocol::Found found_;  ///< of the oldest request
  Pending end_;
};

}  // namespace tandem
