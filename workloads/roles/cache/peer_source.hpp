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
#include "workloads/roles/cache/sample_reads.hpp"

namespace tandem {

/// A read becomes parts of few bytes. Each part is requested, and ends, as a read of its own. Few parts are
/// requested from a peer at the same time. The others wait here; those on demand overtake those that no
/// batch waits for. Other peers do not wait for a peer that has not answered. A peer that has departed has
/// no sample: reads end without a message.
class PeerSource : public SampleReads {
 public:
  /// The next part is requested while fewer bytes are requested. A link of 100 Gbit/s passes fewer in a
  /// round trip within a cluster, and a peer reads the next part from its disk while it sends one.
  static constexpr Bytes window{512 << 10};
  /// The arguments must outlive it.
  PeerSource(Context& context, Rank peer, const cache::Manifest& manifest)
      : context_(context), peer_(context, peer), manifest_(manifest) {}
  Rank rank() const { return peer_.rank(); }
  void add(SampleRead read) override;
  /// A batch waits for the sample: a part with it that is not requested overtakes others.
  void hurry(SampleId id);
  void put_next(Pending& wait) override;
  void hear(const Completion& ended) override { ended_ = ended; }
  std::optional<SampleRead> finish() override;
  std::optional<SampleRead> take_refused() override;
  bool is_idle() const {
    return requests_.empty() && on_demand_.empty() && ahead_.empty() && refused_.empty() &&
           !peer_.is_joining();
  }
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
  SampleRead take_part(SampleRead& read, std::size_t begin, std::size_t end) const;
  void request_next();
  void request(SampleRead part);
  void refuse(std::deque<SampleRead>& parts);
  void spread(const Request& request) const;

  Context& context_;
  DepartingServer peer_;
  const cache::Manifest& manifest_;
  std::deque<SampleRead> on_demand_, ahead_;  ///< parts that are not requested yet
  std::deque<SampleRead> refused_;            ///< parts for a peer that is not there
  std::deque<Request> requests_;
  Bytes requested_{0};        ///< by these
  bool awaits_peer_ = false;  ///< put_next has given the operation for which joining the peer waits
  Completion ended_;
  protocol::Found found_;  ///< of the oldest request
  Pending end_;
};

}  // namespace tandem
