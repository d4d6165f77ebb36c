// Samples that another cache node has in its tiers. It reads and keeps nothing for others, so a read may
// bring only some of the samples, or none.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/membership/departing_server.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/peer_parts.hpp"
#include "workloads/roles/cache/sample_reads.hpp"

namespace tandem {

/// PeerParts decides what is requested, and when. Other peers do not wait for a peer that has not answered. A
/// peer that has departed has no sample: reads end without a message.
class PeerSource : public SampleReads {
 public:
  /// The arguments must outlive it.
  PeerSource(Context& context, Rank peer, const cache::Manifest& manifest)
      : context_(context), peer_(context, peer), parts_(manifest) {}
  Rank rank() const { return peer_.rank(); }
  void add(SampleRead read) override;
  /// A batch waits for the sample: a part with it that is not requested overtakes others.
  void hurry(SampleId id) { parts_.hurry(id); }
  void put_next(Pending& wait) override;
  void on_ended(const Completion& ended) override { ended_ = ended; }
  std::optional<SampleRead> finish() override;
  std::optional<SampleRead> take_refused() override { return parts_.take_refused(); }
  bool is_idle() const { return requests_.empty() && parts_.is_empty() && !peer_.is_joining(); }
  /// Says to the other node, if it is there, that no read follows. A node ends only when all others have
  /// said so. Pre: is_idle().
  void say_end();
  void close(Pending& last) override;
  /// The peer is absent as this node begins.
  void be_absent() { peer_.be_absent(); }
  void depart();
  /// Another peer of incarnation `peer` has come. `own`: incarnation of this node.
  void join(int own, int peer) { peer_.join(own, peer); }

 private:
  struct Request {
    SampleRead read;
    std::vector<std::byte> records = {};  ///< where the samples go to different places
    std::byte* into = nullptr;            ///< null when math is modelled
    Pending sent = {};
    Pending data = {};
  };
  void request_next();
  void request(SampleRead part);
  void spread(const Request& request) const;

  Context& context_;
  DepartingServer peer_;
  PeerParts parts_;
  std::deque<Request> requests_;
  bool awaits_peer_ = false;  ///< put_next has given the operation for which joining the peer waits
  Completion ended_;
  protocol::Found found_;  ///< of the oldest request
  Pending end_;
};

}  // namespace tandem
